"""Writes prices.yaml from the two price lists, and prints where they disagree.

Usage: python3 generate FOLDER GENAI_VERSION LITELLM_VERSION DAY. The folder holds both packages
unpacked. `make prices` calls this; it is the only part that uses the network.

Which price is taken:

1. An entry of overrides.json wins. It names the vendor's page.
2. What only one list has is taken from it.
3. Where both have a price and differ, the dearer one is taken: a cap must hold.
4. A tier without a rate for a longer prompt or for a kind of token takes the dearer of its own rate
   and the standard one, raised if the tier's input costs more.
5. A model that makes something other than text, that costs nothing, or whose price depends on the
   time of day is left out. A model without a price is refused under a cap, never free.
"""

from __future__ import annotations

import json
import re
import sys
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

from lists import KINDS, PROVIDERS, Genai, Key, Litellm, Model, Rate

HERE = Path(__file__).parent.parent
DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")

report: list[str] = []


def text(value: Decimal) -> str:
    """A decimal as the file has it, with at most six places."""
    exact = format(value.quantize(Decimal("0.000001"), ROUND_CEILING), "f")
    return exact.rstrip("0").rstrip(".")


def merge(name: str, genai: Model, litellm: Model) -> Model:
    """One model from both lists."""
    merged = Model(window=max(genai.window, litellm.window), max_output=litellm.max_output)
    merged.regions = litellm.regions | genai.regions
    starts = {above for _, _, above in genai.rates}  # from 200,000 tokens, or above them: the lower one is dearer
    litellm.rates = {(t, d, a - (a - 1 in starts)): rate for (t, d, a), rate in litellm.rates.items()}
    for _, day, above in [key for key in genai.rates if key[0] == "fast"]:
        own, same = genai.rates["fast", day, above], litellm.rates.get(("priority", day, above), {})
        if own == genai.rates.get(("priority", day, above)):  # two names of one tier; litellm has the older name only
            litellm.rates["fast", day, above] = same

    def dearer(what: str, a: Decimal | None, b: Decimal | None) -> Decimal:
        if a is None or b is None:
            return a if a is not None else b or Decimal(0)
        if a != b:
            taken = "genai-prices" if a > b else "litellm"
            report.append(f"{name}: {what}: genai-prices {text(a)}, litellm {text(b)}: took {taken}, the dearer")
        return max(a, b)

    for tool in sorted({*genai.tools, *litellm.tools}):
        merged.tools[tool] = dearer(tool, genai.tools.get(tool), litellm.tools.get(tool))
    for key in sorted({*genai.rates, *litellm.rates}):
        tier, day, above = key
        a, b = genai.rates.get(key, {}), litellm.rates.get(key, {})
        where = " ".join(filter(None, (tier or "standard", day and f"from {day}", above and f"above {above}")))
        merged.rates[key] = {
            kind: dearer(f"{where} {kind}", a.get(kind), b.get(kind)) for kind in KINDS if kind in a or kind in b
        }
    for _, day, _ in sorted({key for key in genai.rates if key[1]}):
        for tier in sorted({t for t, _, _ in litellm.rates} - {t for t, d, _ in genai.rates if d == day}):
            report.append(f"{name}: tier {tier} has no price from {day}: only litellm has it, which has no dates")
    return merged


def fill(model: Model) -> None:
    """Gives every tier the bands and kinds that the standard tier has."""
    days = {day for _, day, _ in model.rates}
    for day in days:
        bands = sorted({above for _, d, above in model.rates if d == day})
        for tier in sorted({t for t, d, _ in model.rates if d == day}, key=lambda t: t != ""):
            base = model.rates.get((tier, day, 0))
            if base is None or not {"input", "output"} <= base.keys():
                for above in bands:
                    model.rates.pop((tier, day, above), None)
                continue
            standard: Rate = {}
            for above in bands:
                standard = model.rates.get(("", day, above), standard)
                own = model.rates.setdefault((tier, day, above), {})
                if own.get("audio", own.get("input")) != own.get("input") and "audio_cache_read" not in base:
                    own.setdefault("audio_cache_read", own["audio"])
                for kind in (k for k in KINDS if k not in own and (k in base or k in standard)):
                    if kind == "audio" and standard.get(kind) == standard.get("input"):
                        own[kind] = own["input"]
                    elif kind in base:
                        own[kind] = max(base[kind], standard.get(kind, base[kind]))
                    else:  # the standard rate, or more if the input of this tier costs more
                        own[kind] = standard[kind] * max(Decimal(1), own["input"] / standard["input"])


def rows(model: Model) -> list[dict[str, Any]]:
    """The rates as rows of the file. Tiers with the same rates share rows."""
    out: list[dict[str, Any]] = []
    for day in sorted({day for _, day, _ in model.rates}):
        groups: dict[str, list[str]] = {}
        for tier in sorted({t for t, d, _ in model.rates if d == day}):
            bands = sorted((above, rate) for (t, d, above), rate in model.rates.items() if (t, d) == (tier, day))
            lines = [{**({"above": above} if above else {}), **shorten(rate)} for above, rate in bands]
            slim = [line for i, line in enumerate(lines) if i == 0 or values(line) != values(lines[i - 1])]
            groups.setdefault(json.dumps(slim), []).append(tier)
        for body, tiers in groups.items():
            head = {**({"from": day} if day else {}), **({"tiers": tiers} if tiers != [""] else {})}
            out += [{**head, **line} for line in json.loads(body)]
    return out


def values(line: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in line.items() if k != "above"}


def shorten(rate: Rate) -> dict[str, str]:
    """A rate without the kinds that cost what they cost by default."""
    kept = {kind: rate[kind] for kind in KINDS if kind in rate}
    for kind, default in (("cache_write_long", "cache_write"), ("audio_cache_read", "audio"), ("cache_write", "input"),
                          ("cache_read", "input")):
        if kind in kept and kept[kind] == kept.get(default, kept["input"]):
            del kept[kind]
    return {kind: text(value) for kind, value in kept.items()}


def collect(genai: Genai, litellm: Litellm) -> dict[str, dict[str, Any]]:
    """Every model of both lists as an entry of the file."""
    entries: dict[str, dict[str, Any]] = {}
    for provider in sorted(PROVIDERS):
        for model in sorted({*genai.names(provider), *litellm.names(provider)}):
            name = f"{provider}/{model}"
            found = {"genai-prices": genai.find(provider, model), "litellm": litellm.find(provider, model)}
            known = {where: m for where, m in found.items() if m}
            reason = next((m.left_out for m in known.values() if m.left_out), "")
            merged = merge(name, known.get("genai-prices", Model()), known.get("litellm", Model()))
            fill(merged)
            if not reason and not any(rate.get("output") for rate in merged.rates.values()):
                reason = "no list has a price of its output"
            if reason:
                report.append(f"{name}: left out: {reason}")
                continue
            entries[name] = {
                "lists": list(known),
                "window": merged.window,
                "max_output": merged.max_output,
                "regions": {k: text(v) for k, v in sorted(merged.regions.items())},
                "tools": {k: text(v) for k, v in sorted(merged.tools.items())},
                "rates": rows(merged),
            }
    return entries


def override(entries: dict[str, dict[str, Any]]) -> None:
    """Applies overrides.json, which holds what a vendor's page says and the lists do not."""
    overrides = json.loads((HERE / "overrides.json").read_text())
    for provider, o in overrides["tools"].items():
        for name, entry in entries.items():
            if name.startswith(provider + "/"):
                entry["tools"] = dict(sorted({**entry["tools"], **o["prices"]}.items()))
        report.append(f"{provider}: {', '.join(o['prices'])}: took overrides.json: {o['reason']} ({o['source']})")
    for name, o in overrides["models"].items():
        entry = entries.setdefault(name, {"lists": [], "rates": []})
        known = {(row.get("from"), tier) for row in entry["rates"] for tier in row.get("tiers", [])}
        for row in o.get("rates", []):
            if listed := [tier for tier in row["tiers"] if (row["from"], tier) in known]:
                raise SystemExit(f"overrides.json: {name}: a list has {listed} from {row['from']} now: remove the row")
        entry |= {k: v for k, v in o.items() if k in {"free", "source"}}
        entry["rates"] = sorted(entry["rates"] + o.get("rates", []), key=lambda row: row.get("from", ""))
        report.append(f"{name}: took overrides.json: {o['reason']} ({o['source']})")


def dump(value: Any) -> str:
    """One line of JSON. Prices are numbers with the digits that the lists have."""
    line = json.dumps(value, ensure_ascii=False)
    return re.sub(r'"(\d+(?:\.\d+)?)"', r"\1", line)


def write(entries: dict[str, dict[str, Any]], day: str, versions: list[str]) -> None:
    """The file, one rate a line. As one JSON value, it would take twice as long to parse."""
    sources = [
        {"name": "genai-prices", "version": versions[0], "license": "MIT",
         "copyright": "Copyright (c) Pydantic Services Inc. 2025 to present"},
        {"name": "litellm", "version": versions[1], "license": "MIT", "copyright": "Copyright (c) 2023 Berri AI"},
    ]
    out = [f'date: "{day}"', "sources:", *("  - " + json.dumps(s) for s in sources), "models:"]
    for name in sorted(entries):
        entry = entries[name]
        out.append(f"  {json.dumps(name)}:")
        head = ("free", "source", "lists", "window", "max_output", "regions", "tools")
        out += [f"    {key}: {dump(entry[key])}" for key in head if entry.get(key)]
        if entry.get("rates"):
            out += ["    rates:", *("      - " + dump(row) for row in entry["rates"])]
    (HERE / "prices.yaml").write_text("\n".join(out) + "\n")


def main() -> None:
    folder, genai_version, litellm_version, day = sys.argv[1:]
    entries = collect(Genai(Path(folder), day), Litellm(Path(folder), day))
    for name in [n for n in sorted(entries) if DATED.search(n)]:
        undated = entries.get(DATED.sub("", name))
        if undated and all(entries[name][k] == undated[k] for k in ("rates", "regions", "tools")):
            del entries[name]  # a dated name without an entry has the price of the name without its date
    override(entries)
    write(entries, day, [genai_version, litellm_version])
    left_out = [line for line in report if ": left out: " in line]
    print(*(line for line in dict.fromkeys(report) if line not in left_out), sep="\n")
    print(*left_out, sep="\n")
    print(f"{len(entries)} models, {len(left_out)} left out")


main()
