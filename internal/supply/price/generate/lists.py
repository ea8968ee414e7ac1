"""Reads the two public price lists into one shape.

A model is a Model with rates by (tier, from, above). All prices are Decimals in US dollars per
million tokens, prices of tools per thousand uses. Neither package is imported: the first list is
Python source, which is evaluated as data, and the second is JSON.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

# Our provider: its name in genai-prices, its name in litellm.
PROVIDERS = {
    "anthropic": ("anthropic", "anthropic"),
    "google": ("google", "gemini"),
    "openai": ("openai", "openai"),
    "cerebras": ("cerebras", "cerebras"),
    "groq": ("groq", "groq"),
    "mistral": ("mistral", "mistral"),
    "moonshot": ("moonshotai", "moonshot"),
    "xai": ("x-ai", "xai"),
    "zai": ("zai", "zai"),
}

KINDS = ("input", "output", "cache_read", "cache_write", "cache_write_long", "audio", "audio_cache_read")

Key = tuple[str, str, int]  # tier, first day, tokens of the prompt above which it applies
Rate = dict[str, Decimal]


@dataclass
class Model:
    """One model as a list has it."""

    rates: dict[Key, Rate] = field(default_factory=dict)
    regions: dict[str, Decimal] = field(default_factory=dict)
    tools: dict[str, Decimal] = field(default_factory=dict)
    window: int = 0
    max_output: int = 0
    left_out: str = ""  # why no price can be taken


def number(value: float | Decimal | int) -> Decimal:
    """The decimal that a list wrote, without the noise of a float."""
    return Decimal(str(value)) if not isinstance(value, Decimal) else value


# genai-prices


def evaluate(node: ast.expr) -> Any:
    """The value of a literal, or of a call as a dictionary of its arguments."""
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            return [evaluate(item) for item in node.elts]
        case ast.Dict():
            return {evaluate(k): evaluate(v) for k, v in zip(node.keys, node.values, strict=True) if k}
        case ast.Attribute():
            return node.attr
        case ast.Call(func=ast.Name(id="Decimal")):
            return Decimal(evaluate(node.args[0]))
        case ast.Call(func=ast.Attribute(attr="date")):
            return "{:04}-{:02}-{:02}".format(*(evaluate(arg) for arg in node.args))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return {"kind": name, **{k.arg: evaluate(k.value) for k in node.keywords}}
    raise ValueError(f"genai-prices, line {node.lineno}: {ast.dump(node)[:80]}")


def matches(clause: dict[str, Any], model: str) -> bool:
    """Whether a rule of the list takes the name of a model."""
    match clause["kind"]:
        case "ClauseEquals":
            return model == clause["equals"]
        case "ClauseStartsWith":
            return model.startswith(clause["starts_with"])
        case "ClauseEndsWith":
            return model.endswith(clause["ends_with"])
        case "ClauseContains":
            return clause["contains"] in model
        case "ClauseRegex":
            return re.search(clause["regex"], model) is not None
        case "ClauseOr":
            return any(matches(c, model) for c in clause["or_"])
        case "ClauseAnd":
            return all(matches(c, model) for c in clause["and_"])
    raise ValueError(f"genai-prices: unknown rule {clause['kind']}")


GENAI_KINDS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_long",
    "input_audio_mtok": "audio",
    "cache_audio_read_mtok": "audio_cache_read",
}
GENAI_TOOLS = {"web_searches_kcount": "web_search", "storage_searches_kcount": "file_search"}
# Images and video of a prompt cost what its text does, or the model is left out.
GENAI_SAME = {"input_image_mtok", "input_video_mtok", "cache_image_read_mtok"}


def genai_rows(prices: dict[str, Any]) -> dict[int, Rate]:
    """The rates of a price by band. Every band has every kind that the price has."""
    price = {GENAI_KINDS[k]: v for k, v in prices.items() if k in GENAI_KINDS and v is not None}
    starts = {t["start"] for v in price.values() if isinstance(v, dict) for t in v["tiers"]}
    rows: dict[int, Rate] = {}
    for above in sorted({0, *starts}):
        rows[above] = {}
        for kind, value in price.items():
            if isinstance(value, dict):
                tiers = [t["price"] for t in sorted(value["tiers"], key=lambda t: t["start"]) if t["start"] <= above]
                rows[above][kind] = ([value["base"], *tiers])[-1]
            else:
                rows[above][kind] = value
    return rows


def genai_model(entry: dict[str, Any], today: str) -> Model:
    """One model: its prices of today, and the ones that are announced."""
    model = Model(window=entry.get("context_window") or 0)
    standard = entry["prices"]
    if isinstance(standard, dict):
        standard = [{"prices": standard}]
    constraints = [p.get("constraint") for p in [*standard, *(entry.get("price_variants") or [])]]
    if any(c and c["kind"] != "StartDateConstraint" for c in constraints):
        model.left_out = "its price depends on the time of day"
        return model
    unknown = {k for p in standard for k in p["prices"]} - {"kind", *GENAI_KINDS, *GENAI_TOOLS}
    for p in standard:
        unknown -= {k for k in GENAI_SAME if p["prices"].get(k) == p["prices"].get("input_mtok")}
    if unknown:
        model.left_out = "not only text: " + ", ".join(sorted(unknown))
        return model

    def active(p: dict[str, Any], day: str) -> bool:
        return not p.get("constraint") or p["constraint"]["start_date"] <= day

    days = sorted({today, *(c["start_date"] for c in constraints if c and c["start_date"] > today)})
    for day in days:
        base = next((p for p in reversed(standard) if active(p, day)), standard[0])["prices"]
        for kind, tool in GENAI_TOOLS.items():
            if base.get(kind) is not None:
                model.tools[tool] = base[kind]
        variants: dict[str, dict[str, Any]] = {"": {}}
        for v in entry.get("price_variants") or []:
            if active(v, day) and len(v["when"]) == 1:
                tier = next(iter(v["when"].values()))
                variants[tier] = {**v["prices"], **variants.get(tier, {})}
        for tier, prices in variants.items():
            if tier != "default":
                for above, rate in genai_rows({**base, **prices}).items():
                    model.rates[tier, "" if day == today else day, above] = rate
    return model


class Genai:
    """The list genai-prices."""

    def __init__(self, folder: Path, today: str) -> None:
        tree = ast.parse((folder / "genai_prices" / "data.py").read_text())
        providers = next(evaluate(s.value) for s in tree.body if isinstance(s, ast.AnnAssign) and s.value)
        self.today = today
        self.entries = {p["id"]: p["models"] for p in providers}

    def names(self, provider: str) -> list[str]:
        """The models of one of our providers."""
        return [entry["id"] for entry in self.entries[PROVIDERS[provider][0]]]

    def find(self, provider: str, name: str) -> Model | None:
        """The first model whose rule takes the name."""
        for entry in self.entries[PROVIDERS[provider][0]]:
            if entry["id"] == name or matches(entry["match"], name):
                return genai_model(entry, self.today)
        return None


# litellm

LITELLM_KINDS = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
    "cache_creation_input_token_cost": "cache_write",
    "cache_creation_input_token_cost_above_1hr": "cache_write_long",
    "cache_creation_input_token_cost_above_12hr": "cache_write_long",
    "input_cost_per_audio_token": "audio",
    "cache_read_input_audio_token_cost": "audio_cache_read",
}
LITELLM_TIERS = {"batches": "batch", "flex": "flex", "priority": "priority", "ultrafast": "ultrafast"}
LITELLM_KEY = re.compile(
    "(" + "|".join(sorted(LITELLM_KINDS, key=len, reverse=True)) + r")(?:_above_(\d+)k_tokens)?(?:_([a-z]+))?"
)
# A model with one of these makes something other than text.
LITELLM_OTHER = re.compile("output_cost_per_(audio|image|video|second|pixel|character)|input_cost_per_pixel")


def litellm_model(entry: dict[str, Any]) -> Model:
    """One model, with the prices of today."""
    model = Model(window=int(entry.get("max_input_tokens") or 0), max_output=int(entry.get("max_output_tokens") or 0))
    other = sorted(k for k in entry if LITELLM_OTHER.match(k) and entry[k])
    if other or entry.get("mode") not in {"chat", "responses", "completion"}:
        model.left_out = "not only text: " + (", ".join(other) or str(entry.get("mode")))
        return model
    for name, value in entry.items():
        key = LITELLM_KEY.fullmatch(name)
        if key and value is not None and (key[3] is None or key[3] in LITELLM_TIERS):
            place = (LITELLM_TIERS[key[3]] if key[3] else "", "", int(key[2] or 0) * 1000)
            model.rates.setdefault(place, {})[LITELLM_KINDS[key[1]]] = number(value) * 1_000_000
    for region in ("eu", "us"):
        uplift = entry.get(f"regional_processing_uplift_multiplier_{region}")
        uplift = uplift or (entry.get("provider_specific_entry") or {}).get(region)
        if uplift:
            model.regions[region] = number(uplift)
    if searches := entry.get("search_context_cost_per_query"):
        model.tools["web_search"] = max(number(v) for v in searches.values()) * 1000
    if maps := entry.get("google_maps_grounding_cost_per_query"):
        model.tools["google_maps"] = number(maps) * 1000
    return model


class Litellm:
    """The list of litellm."""

    def __init__(self, folder: Path, today: str) -> None:
        entries = json.loads((folder / "litellm" / "model_prices_and_context_window_backup.json").read_text())
        self.entries: dict[str, dict[str, dict[str, Any]]] = {p: {} for p in PROVIDERS}
        for name, entry in sorted(entries.items()):
            for ours, (_, theirs) in PROVIDERS.items():
                retired = "" < (entry.get("deprecation_date") or "") < today
                if entry.get("litellm_provider") == theirs and not retired and not name.startswith("ft:"):
                    self.entries[ours][name.removeprefix(theirs + "/")] = entry

    def names(self, provider: str) -> list[str]:
        """The models of one of our providers that are not retired."""
        return list(self.entries[provider])

    def find(self, provider: str, name: str) -> Model | None:
        """The model of that name."""
        entry = self.entries[provider].get(name)
        return litellm_model(entry) if entry else None
