"""The contract: its operations, each with what it is called here."""

# The contract is a dictionary of anything; mypy is strict here too.
# pyright: basic

from __future__ import annotations

import keyword
import re
from typing import Any

from text import camel, snake

METHODS = ("get", "post", "put", "patch", "delete")
# Names that every call takes beside those of the contract, see _options.py.
OPTIONS = {"timeout", "retries", "extra_headers", "extra_query", "extra_body", "idempotency_key"}

Schema = dict[str, Any]


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
            if not parameter.get("x-sdk", True):
                continue
            if parameter["in"] == "path":
                self.path_names[parameter["name"]] = snake(ref_name(raw) or parameter["name"])
            elif parameter["in"] == "query":
                name = parameter["name"]  # from becomes from_
                self.query.append({**parameter, "name": name + "_" * keyword.iskeyword(name)})
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
        self.raw = self.bodies.pop("*/*", None) is not None
        unknown = set(self.bodies) - {"application/json", "multipart/form-data"}
        if unknown:
            raise SystemExit(f"{self.id}: bodies of {unknown} are not known")
        self._read_answer(contract, operation["responses"])
        self._check(contract)

    def _read_answer(self, contract: Contract, responses: Schema) -> None:
        good = {status: contract.follow(r) for status, r in responses.items() if status < "400"}
        self.link = "302" in good
        contents = [c for r in good.values() for c in r.get("content", {}).items()]
        if len(contents) > 1 and contents[0][0] != "application/json":
            raise SystemExit(f"{self.id}: more than one kind of response")
        kind, content = contents[0] if contents else ("", {})
        self.response: Schema = content.get("schema", {})
        self.events = kind == "text/event-stream"
        self.binary = self.link or (bool(kind) and kind != "application/json" and not self.events)
        self.empty = not kind and not self.link
        self.items = ""
        properties = contract.follow(self.response).get("properties", {})
        if "page_info" in properties:
            (self.items,) = [k for k, v in properties.items() if v.get("type") == "array"]
            self.item: Schema = properties[self.items]["items"]
        if self.events:
            self.response = self.response["items"]

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
        own = self.bodies or self.query or self.headers or self.raw
        return f"{camel(self.id)}Params" if own else self.options
