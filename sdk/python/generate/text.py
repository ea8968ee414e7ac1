"""Names and docstrings."""

from __future__ import annotations

import re
import textwrap

NOTE = "# Made from api/openapi.yaml by generate/ (make generate). Do not edit."


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
