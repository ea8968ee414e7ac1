"""Schemas of the contract as Python's types: models that are received, dictionaries that are sent."""

# The contract is a dictionary of anything; mypy is strict here too.
# pyright: basic

from __future__ import annotations

import keyword
import re
from typing import Any

from contract import Contract, Operation, Schema, ref_name
from text import NOTE, camel, doc


def literal(values: list[Any]) -> str:
    return f"Literal[{', '.join(repr(v) for v in values if v is not None)}]"


class Writer:
    """Schemas as Python's types. Two kinds: what is received, and what is sent."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.inline: list[tuple[str, Schema]] = []

    def type_of(self, schema: Schema, owner: str, *, exact: bool = False) -> str:
        """The type of a value; an object without a name gets that of its owner."""
        if "$ref" in schema:
            return self.named(ref_name(schema))
        if "oneOf" in schema:
            variants = [s for s in schema["oneOf"] if self.exact or not s.get("writeOnly")]
            return " | ".join(self.type_of(s, owner) for s in variants)
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
            attribute = re.sub("(?<=[a-z])[A-Z]", lambda m: "_" + m[0].lower(), field)
            attribute += "_" * keyword.iskeyword(field)
            if attribute != field:
                kind, _, default = kind.partition(" = ")
                default = f"{default}, " if default else ""
                kind += f" = Field({default}alias={field!r})"
            if value.get("format") == "password":
                kind, equals, default = kind.partition(" = ")  # not into a log by accident
                kind = f"Annotated[{kind}, Field(repr=False)]{equals}{default}"
            text += f"\n    {attribute}: {kind}\n" + doc(
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

    def __init__(self, contract: Contract, received: set[str]) -> None:
        super().__init__(contract)
        self.received = received

    def named(self, name: str) -> str:
        """A dictionary, or the model as it was received, where the schema is of both kinds."""
        schema = self.contract.schemas[name]
        if "enum" in schema:
            return name
        if "properties" not in schema:
            return self.type_of(schema, name)
        return f"{name} | InstanceOf[types.{name}]" if name in self.received else name

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
        if any(keyword.iskeyword(field) for field in schema["properties"]):
            return self.function(name, schema)
        for field, value in schema["properties"].items():
            kind = self.type_of(value, name + camel(field))
            text += f"\n    {field}: {f'Required[{kind}]' if field in required else kind}\n"
            text += doc(value.get("description"))
        return text

    def function(self, name: str, schema: Schema) -> str:
        """A dictionary with a key that no class can have as an attribute."""
        text, required = (
            f"\n\n{name} = TypedDict(\n    {name!r},\n    {{\n",
            schema.get("required", []),
        )
        for field, value in schema["properties"].items():
            kind = self.type_of(value, name + camel(field))
            text += f"        {field!r}: {f'Required[{kind}]' if field in required else kind},\n"
        text += "    },\n    total=False,\n)\n" + doc(schema.get("description"), indent=0)
        return text + f"with_config(STRICT)({name})\n"

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
            if operation.raw:
                text += "\n    content: Required[bytes]\n" + doc("What is sent, as it is.")
            if operation.headers:
                text += f"\n    source: {self.type_of(operation.source_schema, name)}\n"
                text += doc("What kind of client this is; becomes the run's `source`.")
            classes.append((name, text))
        return classes


def names_of(names: list[str]) -> str:
    return "\n__all__ = [" + ", ".join(repr(n) for n in sorted(names)) + "]\n"


HEAD_TYPES = f'''{NOTE}
"""What the server returns, as pydantic models.

Fields and values that this version does not know are kept: a field in `model_extra` (and as an
attribute), a value of an enumeration as the string that it is, a variant of a union as `Unknown…`.
A field that was absent is None and not in `model_fields_set`; one that was null is in it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

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
