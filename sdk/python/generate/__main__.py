"""Makes the generated part of the package from api/openapi.yaml and sdk/operations.yaml.

    types.py             what the server returns: pydantic models
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

import subprocess
import sys
from pathlib import Path

import yaml
from contract import Contract
from methods import Resources, Responses, methods_table, operations_module
from schemas import Models, Params

HERE = Path(__file__).resolve().parents[1]
PACKAGE = HERE / "src" / "penstock"
CONTRACT = HERE.parent.parent / "api" / "openapi.yaml"
NAMES = HERE.parent / "operations.yaml"
README = HERE / "README.md"


def main() -> None:
    names = yaml.safe_load(NAMES.read_text("utf-8"))
    contract = Contract(yaml.load(CONTRACT.read_text("utf-8"), yaml.CSafeLoader), names)
    sent = contract.reachable(
        [s for o in contract.methods for s in [*o.bodies.values(), *(q["schema"] for q in o.query)]]
    )
    received = contract.reachable([o.response for o in contract.methods] + [{"$ref": "/Error"}])
    received.add("ErrorCode")
    models = Models(contract)
    responses = Responses(models)
    files = {
        "types.py": models.module(received),
        "params.py": Params(contract, received).module(sent),
        "_operations.py": operations_module(contract, responses),
        "_resources.py": Resources(contract, responses, asynchronous=False).module(),
        "_async_resources.py": Resources(contract, responses, asynchronous=True).module(),
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
