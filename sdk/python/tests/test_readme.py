"""The README's snippets, each run as it stands, and its table of methods."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Server

README = (Path(__file__).parents[1] / "README.md").read_text()
SECTIONS = {
    heading: snippet
    for heading, body in re.findall(
        r"^## (.+?)\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL
    )
    for snippet in re.findall(r"^```python\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
}


def test_order_of_the_sections() -> None:
    asked = [
        "Install",
        "First run",
        "Async",
        "Watch live",
        "Follow up and cancel",
        "Errors",
        "Retries",
    ]
    asked += [
        "Timeouts",
        "Pagination",
        "Raw responses and new endpoints",
        "Proxies, certificates, logging",
    ]
    asked += ["Webhooks", "Event endpoints", "Testing", "Methods"]
    assert re.findall(r"^## (.+)$", README, re.MULTILINE) == asked
    assert SECTIONS.keys() == set(asked) - {"Install", "Methods"}
    assert README.count("```python") == len(SECTIONS)
    assert "pip install ./sdk/python" in README
    assert (ROOT / "sdk" / "python" / "pyproject.toml").exists()


@pytest.mark.parametrize("section", SECTIONS)
def test_snippet(server: Server, section: str, tmp_path: Path) -> None:
    env = {**os.environ, "PENSTOCK_API_KEY": server.key, "PENSTOCK_BASE_URL": server.url}
    env["PYTHONPATH"] = str(ROOT / "sdk" / "python" / "src")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SECTIONS[section]],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    wanted = {
        "First run": "SUCCEEDED",
        "Async": "['SUCCEEDED', 'SUCCEEDED']",
        "Watch live": "now SUCCEEDED",
    }
    wanted |= {"Errors": "404 resource_not_found", "Webhooks": "Accepted ['"}
    wanted["Event endpoints"] = "header The header webhook-id is missing"
    assert wanted.get(section, "") in done.stdout
