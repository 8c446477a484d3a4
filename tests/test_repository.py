"""The repository keeps its promises: links lead somewhere, pins are complete, scripts parse."""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SCRIPTS = [path for path in (ROOT / "scripts").iterdir() if "." not in path.name and path.is_file()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_everything_the_tests_and_the_demo_need_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"]]
    for extra in (
        "dev",
        "report",
        "data",
        "cuda",
        "triton",
        "ir",
        "llm",
        "serve",
        "tvm-ffi",
        "numba",
    ):
        needed += extras[extra]
    names = {re.split(r"[\[>=;<]", each)[0] for each in needed} - {"solbench"}
    pinned = set(re.findall(r"^([\w-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert names <= pinned


@pytest.mark.parametrize("script", [*SCRIPTS, ROOT / ".ci" / "run"], ids=lambda path: path.name)
def test_scripts_are_short_valid_bash(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)
    assert len(script.read_text().splitlines()) <= 25


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "./scripts/test" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "./scripts/test" in (ROOT / ".ci" / "run").read_text()


def test_set_up_knows_every_package_that_an_extra_needs() -> None:
    spec = importlib.util.spec_from_file_location("setup", ROOT / "scripts" / "_setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    demo = {"torch", "numpy", "pydantic", "typer", "rich", "jinja2", "matplotlib"}
    assert setup.requirements("report") == demo
    assert setup.requirements("dev") > demo | {"pytest", "ruff", "mypy", "import-linter"}
