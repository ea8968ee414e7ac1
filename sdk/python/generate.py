"""Makes the generated part of the package from api/openapi.yaml and sdk/operations.yaml.

    types.py             what the server answers: pydantic models
    params.py            what a call takes: typed dictionaries
    _operations.py       each operation, described once
    _resources.py        the methods of Penstock
    _async_resources.py  the methods of AsyncPenstock

and the table of methods in README.md.

It stops at whatever the contract has that it does not know, so that nothing is left out in silence.
Run by `make generate`.
"""

# The contract is a dictionary of anything; mypy is strict here too.
# pyright: basic

from __future__ import annotations

import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "penstock"
CONTRACT = HERE.parent.parent / "api" / "openapi.yaml"
NAMES = HERE.parent / "operations.yaml"
README = HERE / "README.md"

NOTE = "# Made from api/openapi.yaml by generate.py (make generate). Do not edit."
METHODS = ("get", "post", "put", "patch", "delete")
# Names that every call takes beside those of the contract, see _options.py.
OPTIONS = {"timeout", "retries", "extra_headers", "extra_query", "extra_body", "idempotency_key"}

Schema = dict[str, Any]


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def doc(*paragraphs: str | None, indent: int = 4) -> str:
    """A docstring of these paragraphs, wrapped; "" where there is nothing to say."""
    texts = [p.strip() for p in paragraphs if p and p.strip()]
    if not texts:
        return ""
    pad = " " * indent
    lines: list[str] = []
    for number, text in enumerate(texts):
        for block in re.split(r"\n\s*\n", text):
            wrapped = textwrap.wrap(" ".join(block.split()), 96 - indent, break_long_words=False)
            lines += ([""] if lines else []) + wrapped
        if number == 0 and not lines[-1].endswith((".", "?", "!")):
            lines[-1] += "."
    body = f"\n{pad}".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    body = re.sub(r"[ \t]+\n", "\n", body)
    end = f"\n{pad}" if len(lines) > 1 or body.endswith('"') else ""
    return f'{pad}"""{body}{end}"""\n'


class Contract:
    """The contract with its references followed."""

    def __init__(self, document: dict[str, Any], names: dict[str, Any]) -> None:
        self.document = document
        self.schemas: dict[str, Schema] = document["components"]["schemas"]
        self.operations = [
            Operation(self, method, path, item, item[method], names)
            for path, item in document["paths"].items()
            for method in METHODS
            if method in item
        ]
        order = list(names)
        self.methods = sorted(
            (operation for operation in self.operations if operation.method_name),
            key=lambda operation: order.index(operation.id),
        )
        unknown = set(names) - {operation.id for operation in self.operations}
        if unknown:
            raise SystemExit(f"operations.yaml names what the contract has not: {sorted(unknown)}")

    def follow(self, value: Schema) -> Schema:
        while "$ref" in value:
            target: Any = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            value = target
        return value

    def reachable(self, roots: list[Schema]) -> set[str]:
        """The names of all schemas that these lead to."""
        found: set[str] = set()

        def walk(value: Any) -> None:
            if isinstance(value, list):
                for item in value:
                    walk(item)
            elif isinstance(value, dict):
                name = ref_name(value)
                if name and name not in found:
                    found.add(name)
                    walk(self.schemas[name])
                for key, item in value.items():
                    if key != "discriminator":
                        walk(item)

        walk(roots)
        return found


def ref_name(value: Schema) -> str:
    return str(value.get("$ref", "")).rpartition("/")[2]


class Operation:
    """One operation of the contract, with what it is called here."""

    def __init__(
        self,
        contract: Contract,
        method: str,
        path: str,
        item: Schema,
        operation: Schema,
        names: dict[str, Any],
    ) -> None:
        self.id: str = operation["operationId"]
        self.method = method.upper()
        self.path = path
        self.summary: str = operation["summary"]
        self.description: str = operation.get("description", "")
        if self.id not in names:
            raise SystemExit(f"operations.yaml has no line for {self.id} ({self.method} {path})")
        name = names[self.id]
        same_as = isinstance(name, dict)
        where: str = "" if same_as else name
        self.resource, _, self.method_name = where.rpartition(".")
        self.constant = snake(self.id)

        self.path_names: dict[str, str] = {}
        self.query: list[Schema] = []
        self.headers: dict[str, str] = {}
        self.takes_key = False
        for raw in item.get("parameters", []) + operation.get("parameters", []):
            parameter = contract.follow(raw)
            if parameter["in"] == "path":
                self.path_names[parameter["name"]] = snake(ref_name(raw) or parameter["name"])
            elif parameter["in"] == "query":
                self.query.append(parameter)
            elif parameter["name"] == "Idempotency-Key":
                self.takes_key = True
            elif parameter["name"] == "X-Penstock-Source":
                self.headers["source"] = parameter["name"]
                self.source_schema = parameter["schema"]
            elif parameter["name"] != "Last-Event-ID":  # the stream's own
                raise SystemExit(f"{self.id}: header {parameter['name']} is not known")
        order = re.findall(r"{(\w+)}", path)
        self.path_names = {name: self.path_names[name] for name in order}

        body = contract.follow(operation.get("requestBody", {}))
        self.bodies = {kind: content["schema"] for kind, content in body.get("content", {}).items()}
        unknown = set(self.bodies) - {"application/json", "multipart/form-data"}
        if unknown:
            raise SystemExit(f"{self.id}: bodies of {unknown} are not known")
        self._read_answer(contract, operation["responses"])
        self._check(contract)

    def _read_answer(self, contract: Contract, responses: Schema) -> None:
        good = {status: contract.follow(r) for status, r in responses.items() if status < "400"}
        self.link = "302" in good
        contents = [c for r in good.values() for c in r.get("content", {}).items()]
        if len(contents) > 1:
            raise SystemExit(f"{self.id}: more than one kind of answer")
        kind, content = contents[0] if contents else ("", {})
        self.answer: Schema = content.get("schema", {})
        self.events = kind == "text/event-stream"
        self.binary = self.link or (bool(kind) and kind != "application/json" and not self.events)
        self.empty = not kind and not self.link
        self.items = ""
        properties = contract.follow(self.answer).get("properties", {})
        if "page_info" in properties:
            (self.items,) = [k for k, v in properties.items() if v.get("type") == "array"]
            self.item: Schema = properties[self.items]["items"]
        if self.events:
            self.answer = self.answer["items"]

    def _check(self, contract: Contract) -> None:
        taken = [*self.path_names.values(), *(p["name"] for p in self.query), *self.headers]
        for schema in self.bodies.values():
            taken += contract.follow(schema)["properties"]
        json_and_form = len(self.bodies) > 1
        wrong = OPTIONS & set(taken) | {n for n in taken if keyword.iskeyword(n)}
        if wrong or (len(taken) != len(set(taken)) and not json_and_form):
            raise SystemExit(f"{self.id}: arguments {wrong or taken} clash")

    @property
    def options(self) -> str:
        return "PostOptions" if self.takes_key else "Options"

    @property
    def params(self) -> str:
        """The class in params.py with this operation's keywords."""
        own = self.bodies or self.query or self.headers
        return f"{camel(self.id)}Params" if own else self.options


def literal(values: list[Any]) -> str:
    return f"Literal[{', '.join(repr(v) for v in values if v is not None)}]"


class Writer:
    """Schemas as Python's types. Two kinds: what is answered, and what is sent."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.inline: list[tuple[str, Schema]] = []

    def type_of(self, schema: Schema, owner: str, *, exact: bool = False) -> str:
        """The type of a value; an object without a name gets that of its owner."""
        if "$ref" in schema:
            return self.named(ref_name(schema))
        if "oneOf" in schema:
            return " | ".join(self.type_of(s, owner) for s in schema["oneOf"])
        kinds = schema.get("type", "any")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        parts = [self.simple(kind, schema, owner, exact) for kind in kinds if kind != "null"]
        if "null" in kinds:
            parts.append("None")
        return " | ".join(parts) or "None"

    def simple(self, kind: str, schema: Schema, owner: str, exact: bool) -> str:
        match kind:
            case "string" if "enum" in schema:
                return literal(schema["enum"]) + ("" if exact or self.exact else " | str")
            case "string" if schema.get("format") == "date-time":
                return self.time
            case "string" if schema.get("contentEncoding") == "base64":
                return self.base64
            case "string" if schema.get("format") == "binary":
                return "bytes"
            case "string":
                return "str"
            case "integer":
                return "int"
            case "number":
                return "float"
            case "boolean":
                return "bool"
            case "array":
                return f"{self.array}[{self.type_of(schema['items'], owner)}]"
            case "object" if "properties" in schema:
                self.inline.append((owner, schema))
                return owner
            case "object":
                values = schema.get("additionalProperties", True)
                of = "Any" if values is True else self.type_of(values, owner)
                return f"{self.mapping}[str, {of}]"
            case "any":
                return "Any"
            case "null":
                return "None"
        raise SystemExit(f"{owner}: type {kind} is not known")

    # What differs between the two kinds.
    time = base64 = array = mapping = ""
    exact = False
    """Whether a value that the contract does not have is wrong."""

    def named(self, name: str) -> str:
        raise NotImplementedError


class Models(Writer):
    time, base64, array, mapping = "datetime", "str", "list", "dict"

    def named(self, name: str) -> str:
        return name

    def tags(self) -> dict[str, set[str]]:
        """The fields by which variants of a union are told, by the variant's name."""
        found: dict[str, set[str]] = {}
        for schema in self.contract.schemas.values():
            if "discriminator" in schema:
                for variant in schema["oneOf"]:
                    tags = found.setdefault(ref_name(variant), set())
                    tags.add(schema["discriminator"]["propertyName"])
        return found

    def module(self, wanted: set[str]) -> str:
        classes, aliases = "", ""
        tags = self.tags()
        names: list[str] = []
        for name, schema in self.contract.schemas.items():
            if name not in wanted:
                continue
            names.append(name)
            if "discriminator" in schema:
                names.append(f"Unknown{name}")
                classes += self.unknown(name, schema)
                aliases += self.union(name, schema)
            elif "properties" in schema or name == "Empty":
                classes += self.model(name, schema, tags.get(name, set()))
            else:
                kind = self.type_of(schema, name)
                classes += f"\n{name}: TypeAlias = {kind}\n" + doc(
                    schema.get("description"), indent=0
                )
            while self.inline:
                owner, inner = self.inline.pop(0)
                names.append(owner)
                classes += self.model(owner, inner, set())
        return HEAD_TYPES + names_of(names) + classes + aliases

    def model(self, name: str, schema: Schema, tags: set[str]) -> str:
        text = f"\n\nclass {name}(Model):\n" + doc(schema.get("description") or name)
        required = schema.get("required", [])
        for field, value in schema.get("properties", {}).items():
            kind = self.type_of(value, name + camel(field), exact=field in tags)
            target = self.contract.follow(value)
            null = "None" in kind.split(" | ") or target.get("type") == ["string", "null"]
            if field not in required:
                kind += " = None" if null else " | None = None"
            text += f"\n    {field}: {kind}\n" + doc(
                value.get("description") or target.get("description")
            )
        return text

    def unknown(self, name: str, schema: Schema) -> str:
        variants = [self.contract.follow(v)["properties"] for v in schema["oneOf"]]
        tag = schema["discriminator"]["propertyName"]
        common = [f for f in variants[0] if all(f in v for v in variants) and f != tag]
        text = f"\n\nclass Unknown{name}(Model):\n" + doc(
            f"A {name} of a kind that this version does not know; all it holds is kept."
        )
        text += f"\n    {tag}: str\n"
        return text + "".join(f"    {field}: Any = None\n" for field in common)

    def union(self, name: str, schema: Schema) -> str:
        tag, mapping = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
        variants = {key: target.rpartition("/")[2] for key, target in mapping.items()}
        members = [f"Annotated[{v}, Tag({key!r})]" for key, v in variants.items()]
        members.append(f"Annotated[Unknown{name}, Tag(UNKNOWN)]")
        known = ", ".join(repr(key) for key in variants)
        return (
            f"\n{name}: TypeAlias = Annotated[\n    {' | '.join(members)},\n"
            f"    Discriminator(tag_of({tag!r}, {known})),\n]\n"
        ) + doc(schema.get("description"), indent=0)


class Params(Writer):
    time, base64, array, mapping = "datetime | str", "Base64", "Sequence", "Mapping"
    exact = True

    def __init__(self, contract: Contract, answered: set[str]) -> None:
        super().__init__(contract)
        self.answered = answered

    def named(self, name: str) -> str:
        """A dictionary, or the model as it was answered, where the schema is of both kinds."""
        schema = self.contract.schemas[name]
        if "enum" in schema:
            return name
        if "properties" not in schema:
            return self.type_of(schema, name)
        return f"{name} | InstanceOf[types.{name}]" if name in self.answered else name

    def module(self, sent: set[str]) -> str:
        text = ""
        names: list[str] = []
        for name, schema in self.contract.schemas.items():
            if name in sent and "properties" in schema:
                names.append(name)
                text += self.dictionary(name, schema)
            elif name in sent and "enum" in schema:
                names.append(name)
                text += f"\n{name}: TypeAlias = {self.type_of(schema, name)}\n"
                text += doc(schema.get("description"), indent=0)
            while self.inline:
                owner, inner = self.inline.pop(0)
                names.append(owner)
                text += self.dictionary(owner, inner)
        for operation in self.contract.methods:
            for name, part in self.keywords(operation):
                names.append(name)
                text += part
        return HEAD_PARAMS + names_of(names) + text

    def dictionary(self, name: str, schema: Schema) -> str:
        text = f"\n\n@with_config(STRICT)\nclass {name}(TypedDict, total=False):\n" + doc(
            schema.get("description")
        )
        required = schema.get("required", [])
        for field, value in schema["properties"].items():
            kind = self.type_of(value, name + camel(field))
            text += f"\n    {field}: {f'Required[{kind}]' if field in required else kind}\n"
            text += doc(value.get("description"))
        return text

    def keywords(self, operation: Operation) -> list[tuple[str, str]]:
        """The keywords of a method; one class for each kind of body."""
        if operation.params == operation.options:
            return []
        classes: list[tuple[str, str]] = []
        for kind, schema in operation.bodies.items() or [("", {})]:
            name = operation.params
            if kind == "multipart/form-data":
                name = name.replace("Params", "UploadParams")
            bases = [ref_name(schema)] if schema else []
            text = "\n\n@with_config(STRICT)\n"
            text += f"class {name}({', '.join([*bases, operation.options])}, total=False):\n"
            text += doc(f"Keywords of `{operation.resource}.{operation.method_name}`.")
            for parameter in operation.query:
                of = self.type_of(parameter["schema"], name + camel(parameter["name"]))
                of = f"Required[{of}]" if parameter.get("required") else of
                text += f"\n    {parameter['name']}: {of}\n" + doc(parameter.get("description"))
            if operation.headers:
                text += f"\n    source: {self.type_of(operation.source_schema, name)}\n"
                text += doc("What kind of client this is; becomes the run's `source`.")
            classes.append((name, text))
        return classes


def names_of(names: list[str]) -> str:
    return "\n__all__ = [" + ", ".join(repr(n) for n in sorted(names)) + "]\n"


HEAD_TYPES = f'''{NOTE}
"""What the server answers, as pydantic models.

Fields and values that this version does not know are kept: a field in `model_extra` (and as an
attribute), a value of an enumeration as the string that it is, a variant of a union as `Unknown…`.
A field that was absent is None and not in `model_fields_set`; one that was null is in it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Tag

from ._model import UNKNOWN, Model, tag_of
'''

HEAD_PARAMS = f'''{NOTE}
"""What calls take, as typed dictionaries. A key that is left out is not sent; None is sent as null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pydantic import InstanceOf, with_config
from typing_extensions import Required, TypedDict

from . import types
from ._options import STRICT, Base64, Options, PostOptions
'''

HEAD_OPERATIONS = f'''{NOTE}
"""Each operation of the contract, described once. `Penstock` and `AsyncPenstock` carry them out."""

from __future__ import annotations

from typing import Any

from . import params, types
from ._operation import EventOperation, Operation, PageOperation
'''


class Answers:
    """What a method gives back, in both clients."""

    def __init__(self, models: Models) -> None:
        self.models = models

    def of(self, operation: Operation) -> str:
        if operation.binary:
            return "bytes"
        if operation.empty:
            return "None"
        schema = operation.item if operation.items else operation.answer
        kind = self.models.type_of(schema, operation.id)
        return re.sub(r"\b([A-Z]\w+)\b", lambda m: qualified(m[1]), kind)


def qualified(name: str) -> str:
    return name if name == "Any" else f"types.{name}"


def operations_module(contract: Contract, answers: Answers) -> str:
    text = HEAD_OPERATIONS
    for operation in contract.methods:
        answer = answers.of(operation)
        kind = "Operation"
        name = f"{operation.resource}.{operation.method_name}"
        arguments = [repr(v) for v in (operation.id, name, operation.method, operation.path)]
        if operation.events:
            kind = "EventOperation"
            arguments.append(f"answer={answer}")
        elif operation.items:
            kind = "PageOperation"
            page = f"types.{ref_name(operation.answer)}"
            arguments += [f"answer={page}", f"items={operation.items!r}"]
        else:
            arguments.append(f"answer={answer}")
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
        if operation.takes_key:
            arguments.append("takes_key=True")
        if operation.link:
            arguments.append("link=True")
        text += f"\n{operation.constant}: {kind}[{answer}] = {kind}({', '.join(arguments)})\n"
    return text


class Resources:
    """The methods of one of the two clients, by resource."""

    def __init__(self, contract: Contract, answers: Answers, *, asynchronous: bool) -> None:
        self.contract = contract
        self.answers = answers
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
            "from functools import cached_property\nfrom typing import Any, overload\n\n"
            "from typing_extensions import Unpack\n\n"
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
        answer = self.answers.of(operation)
        start = "async def" if self.asynchronous else "def"
        if operation.events:
            start, answer = "def", f"{self.prefix}EventStream[{answer}]"
        elif operation.items:
            start = "def"
            answer = f"AsyncPages[{answer}]" if self.asynchronous else f"Page[{answer}]"
        return f"{start} {operation.method_name}(self{path}, **arguments: {keywords}) -> {answer}:"


def methods_table(contract: Contract) -> str:
    """All methods by resource, as Markdown."""
    resources: dict[str, list[str]] = {}
    for operation in contract.methods:
        resources.setdefault(operation.resource, []).append(f"`{operation.method_name}`")
    resources["runs"].append("`wait`")
    rows = [f"| `client.{name}` | {' '.join(methods)} |" for name, methods in resources.items()]
    return "\n".join(["| Resource | Methods |", "| --- | --- |", *rows])


def main() -> None:
    names = yaml.safe_load(NAMES.read_text("utf-8"))
    contract = Contract(yaml.load(CONTRACT.read_text("utf-8"), yaml.CSafeLoader), names)
    sent = contract.reachable(
        [s for o in contract.methods for s in [*o.bodies.values(), *(q["schema"] for q in o.query)]]
    )
    answered = contract.reachable([o.answer for o in contract.methods] + [{"$ref": "/Error"}])
    answered.add("ErrorCode")
    models = Models(contract)
    answers = Answers(models)
    files = {
        "types.py": models.module(answered),
        "params.py": Params(contract, answered).module(sent),
        "_operations.py": operations_module(contract, answers),
        "_resources.py": Resources(contract, answers, asynchronous=False).module(),
        "_async_resources.py": Resources(contract, answers, asynchronous=True).module(),
    }
    for name, text in files.items():
        (PACKAGE / name).write_text(text, "utf-8")
    readme = README.read_text("utf-8")
    start, end = "<!-- methods -->\n", "<!-- /methods -->"
    before, after = readme.partition(start)[0], readme.partition(end)[2]
    README.write_text(before + start + methods_table(contract) + "\n" + end + after, "utf-8")
    ruff = Path(sys.executable).with_name("ruff")
    paths = [str(PACKAGE / name) for name in files]
    subprocess.run(
        [ruff, "check", "--quiet", "--select=I,F401,UP", "--fix", *paths], cwd=HERE, check=True
    )
    subprocess.run([ruff, "format", "--quiet", *paths], cwd=HERE, check=True)


if __name__ == "__main__":
    main()
