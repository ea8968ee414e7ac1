"""What is built and installed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import httpx
import pydantic

import penstock

HERE = Path(__file__).resolve().parents[1]


def run(*command: str | Path, **options: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def test_wheel_and_sdist_hold_the_package_and_nothing_else(tmp_path: Path) -> None:
    run(sys.executable, "-m", "hatchling", "build", "-d", tmp_path, cwd=HERE)
    (wheel,) = tmp_path.glob("*.whl")
    (sdist,) = tmp_path.glob("*.tar.gz")
    modules = {
        f"penstock/{file.name}" for file in (HERE / "src" / "penstock").iterdir() if file.is_file()
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())
    assert names == modules
    assert "penstock/py.typed" in names
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in modules} <= inside
    assert {n for n in inside if not n.startswith("src/")} == {
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
        ".gitignore",
    }


def test_pip_installs_the_folder_into_a_fresh_environment(tmp_path: Path) -> None:
    """As `pip install ./sdk/python` does, but without a network: what it depends on is here already."""
    venv.create(tmp_path, with_pip=False)
    python = tmp_path / "bin" / "python"
    (site,) = tmp_path.glob("lib/*/site-packages")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps")
    (site / "dependencies.pth").write_text(str(Path(httpx.__file__).parents[1]))
    run(*pip, "--no-build-isolation", "--disable-pip-version-check", HERE)
    (installed,) = site.glob("penstock-*.dist-info")
    wanted = PathDistribution(installed).requires or []
    assert sorted(re.split(r"[<>]", w)[0] for w in wanted) == [
        "anyio",
        "httpx",
        "pydantic",
        "typing-extensions",
    ]
    script = "import penstock; print(penstock.__file__, penstock.__version__)"
    file, version = run(python, "-c", script, cwd=tmp_path).split()
    assert file.startswith(str(site))
    assert version == penstock.__version__ == PathDistribution(installed).version
    run(sys.executable, "-m", "pip", "--python", python, "check")


def test_only_what_is_declared_is_imported() -> None:
    found: set[str] = set()
    for file in (HERE / "src" / "penstock").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add((node.module or "").partition(".")[0])
    third = found - sys.stdlib_module_names - {"penstock"}
    assert third == {"anyio", "httpx", "pydantic", "typing_extensions"}


def test_all_models_can_be_built() -> None:
    """They are built when they are first needed, so that a mistake would show late."""
    for name in penstock.types.__all__:
        adapter = pydantic.TypeAdapter(getattr(penstock.types, name))
        assert adapter.json_schema() is not None
    for name in penstock.params.__all__:
        pydantic.TypeAdapter(getattr(penstock.params, name))
