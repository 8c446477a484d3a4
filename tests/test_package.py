"""``import solbench`` is quick and typed, and every exported name exists."""

import subprocess
import sys
from pathlib import Path

import pytest

import solbench

HEAVY = ("torch", "numpy", "matplotlib", "jinja2", "triton")


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


@pytest.mark.parametrize(
    "statement",
    ["import solbench", "import solbench.spec", "import solbench.judge, solbench.judge._process"],
)
def test_importing_the_package_imports_nothing_heavy(statement: str) -> None:
    assert modules_after(statement).isdisjoint(HEAVY)


def test_reports_do_without_torch() -> None:
    assert "torch" not in modules_after("import solbench.report, solbench.judge.guard")


def test_the_command_line_starts_without_anything_heavy() -> None:
    loaded = modules_after("import solbench.cli")
    assert loaded.isdisjoint(HEAVY)
    assert loaded.isdisjoint({"pydantic", "solbench.spec", "solbench.judge", "solbench.bound"})


@pytest.mark.parametrize("name", solbench.__all__)
def test_every_exported_name_exists(name: str) -> None:
    assert getattr(solbench, name) is not None
    assert name in dir(solbench)


def test_all_lists_exactly_what_is_lazily_exported() -> None:
    assert set(solbench.__all__) == {*solbench._HOMES, "__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        solbench.no_such_thing  # noqa: B018


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(solbench.__file__).parent / "py.typed").exists()
