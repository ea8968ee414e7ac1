"""Common base of all models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

UNKNOWN = ""
"""The tag of a variant that this version does not know."""


class Model(BaseModel):
    """An object from a response. It is immutable and keeps unknown fields."""

    # Schemas are built when the first response of their kind arrives, which keeps the import quick.
    # Input is left out of errors because it may be a secret.
    model_config = ConfigDict(
        extra="allow",
        frozen=True,
        defer_build=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )


def tag_of(field: str, *known: str) -> Callable[[Any], str]:
    """Tell the variants of a union by this field; one that is not known is UNKNOWN."""

    def tag(value: Any) -> str:
        fields = cast("dict[str, Any]", value if isinstance(value, dict) else vars(value))
        found = fields.get(field)
        return found if isinstance(found, str) and found in known else UNKNOWN

    return tag
