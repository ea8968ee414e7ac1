"""Operations, and the methods of both clients that carry them out."""

# The contract is a dictionary of anything; mypy is strict here too.
# pyright: basic

from __future__ import annotations

import re

from contract import Contract, Operation, ref_name
from schemas import Models
from text import NOTE, camel, doc

HEAD_OPERATIONS = f'''{NOTE}
"""Each operation of the contract, described once. `Penstock` and `AsyncPenstock` carry them out."""

from __future__ import annotations

from typing import Any

from . import params, types
from ._operation import EventOperation, Operation, PageOperation
'''


class Responses:
    """What a method gives back, in both clients."""

    def __init__(self, models: Models) -> None:
        self.models = models

    def of(self, operation: Operation) -> str:
        if operation.binary:
            return "bytes"
        if operation.empty:
            return "None"
        schema = operation.item if operation.items else operation.response
        kind = self.models.type_of(schema, operation.id)
        return re.sub(r"\b([A-Z]\w+)\b", lambda m: qualified(m[1]), kind)


def qualified(name: str) -> str:
    return name if name == "Any" else f"types.{name}"


def operations_module(contract: Contract, responses: Responses) -> str:
    text = HEAD_OPERATIONS
    for operation in contract.methods:
        response = responses.of(operation)
        kind = "Operation"
        name = f"{operation.resource}.{operation.method_name}"
        arguments = [repr(v) for v in (operation.id, name, operation.method, operation.path)]
        if operation.events:
            kind = "EventOperation"
            arguments.append(f"response_type={response}")
        elif operation.items:
            kind = "PageOperation"
            page = f"types.{ref_name(operation.response)}"
            arguments += [f"response_type={page}", f"items={operation.items!r}"]
        else:
            arguments.append(f"response_type={response}")
        if operation.path_names:
            names = ", ".join(repr(n) for n in operation.path_names.values())
            arguments.append(f"path_names=({names},)")
        if operation.query:
            arguments.append(f"query=({', '.join(repr(p['name']) for p in operation.query)},)")
        if operation.headers:
            arguments.append(f"headers={operation.headers!r}")
        for media, schema in operation.bodies.items():
            field = "body" if media == "application/json" else "form"
            arguments.append(f"{field}=params.{ref_name(schema)}")
        if operation.params != operation.options:
            arguments.append(f"params=params.{operation.params}")
        if operation.raw:
            arguments.append("raw=True")
        if operation.takes_key:
            arguments.append("takes_key=True")
        if operation.link:
            arguments.append("link=True")
        text += f"\n{operation.constant}: {kind}[{response}] = {kind}({', '.join(arguments)})\n"
    return text


class Resources:
    """The methods of one of the two clients, by resource."""

    def __init__(self, contract: Contract, responses: Responses, *, asynchronous: bool) -> None:
        self.contract = contract
        self.responses = responses
        self.prefix = "Async" if asynchronous else ""
        self.asynchronous = asynchronous
        self.tree: dict[str, list[Operation]] = {}
        for operation in contract.methods:
            self.tree.setdefault(operation.resource, []).append(operation)

    def class_name(self, resource: str) -> str:
        return self.prefix + camel(resource.replace(".", "_"))

    def children(self, resource: str) -> list[str]:
        prefix = f"{resource}." if resource else ""
        return [
            r for r in self.tree if r.startswith(prefix) and "." not in r.removeprefix(prefix) and r
        ]

    def module(self) -> str:
        base = f"{self.prefix}Resource"
        text = self.head()
        for resource, operations in self.tree.items():
            text += f"\n\nclass {self.class_name(resource)}({self.base(resource)}):\n"
            text += doc(f"`client.{resource}`: {', '.join(o.method_name for o in operations)}.")
            text += self.fields(resource)
            # A method named list hides the type from the annotations below it.
            for operation in operations:
                text += self.method(operation)
        text += f"\n\nclass {self.prefix}Resources({base}):\n"
        text += doc("All resources, as fields of the client.") + self.fields("")
        return text

    def base(self, resource: str) -> str:
        return f"{self.prefix}RunsBase" if resource == "runs" else f"{self.prefix}Resource"

    def head(self) -> str:
        p = self.prefix
        kind = "AsyncPenstock" if p else "Penstock"
        return (
            f'{NOTE}\n"""The methods of `{kind}`."""\n\nfrom __future__ import annotations\n\n'
            "from functools import cached_property\nfrom typing import Any\n\n"
            "from typing_extensions import Unpack, overload\n\n"
            "from . import _operations as operations\nfrom . import params, types\n"
            f"from ._events import {p}EventStream\nfrom ._options import Options, PostOptions\n"
            f"from ._pages import {p}Page{'s' if p else ''}\n"
            f"from ._resource import {p}Resource\nfrom ._wait import {p}RunsBase\n"
        )

    def fields(self, resource: str) -> str:
        text = ""
        for child in self.children(resource):
            name = self.class_name(child)
            field = child.rpartition(".")[2]
            text += f"\n    @cached_property\n    def {field}(self) -> {name}:\n"
            text += doc(f"Methods: {', '.join(o.method_name for o in self.tree[child])}", indent=8)
            text += f"        return {name}(self._connection)\n"
        return text

    def method(self, operation: Operation) -> str:
        variants = [operation.params]
        if len(operation.bodies) > 1:
            variants.append(operation.params.replace("Params", "UploadParams"))
        text = ""
        if len(variants) > 1:
            for variant in variants:
                text += f"\n    @overload\n    {self.signature(operation, variant)} ...\n"
            text += f"\n    {self.signature(operation, '')}\n"
        else:
            text += f"\n    {self.signature(operation, operation.params)}\n"
        text += doc(operation.summary, operation.description, indent=8)
        path = "".join(f", {name}" for name in operation.path_names.values())
        call = f"(operations.{operation.constant}, arguments{path})"
        if operation.events:
            return text + f"        return self._events{call}\n"
        if operation.items:
            return text + f"        return self._pages{call}\n"
        wait = "await " if self.asynchronous else ""
        return text + f"        return {wait}self._call{call}\n"

    def signature(self, operation: Operation, variant: str) -> str:
        path = "".join(f", {name}: str" for name in operation.path_names.values())
        where = "" if variant in ("Options", "PostOptions") else "params."
        keywords = f"Unpack[{where}{variant}]" if variant else "Any"
        response = self.responses.of(operation)
        start = "async def" if self.asynchronous else "def"
        if operation.events:
            start, response = "def", f"{self.prefix}EventStream[{response}]"
        elif operation.items:
            start = "def"
            response = f"AsyncPages[{response}]" if self.asynchronous else f"Page[{response}]"
        return (
            f"{start} {operation.method_name}(self{path}, **arguments: {keywords}) -> {response}:"
        )


def methods_table(contract: Contract) -> str:
    """All methods by resource, as Markdown."""
    resources: dict[str, list[str]] = {}
    for operation in contract.methods:
        resources.setdefault(operation.resource, []).append(f"`{operation.method_name}`")
    resources["runs"].append("`wait`")
    rows = [f"| `client.{name}` | {' '.join(methods)} |" for name, methods in resources.items()]
    return "\n".join(["| Resource | Methods |", "| --- | --- |", *rows])
