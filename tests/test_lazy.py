"""Names that a package imports on first use."""

import sys
from types import ModuleType

import pytest

from solbench._lazy import imported_on_use


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package ``box`` whose module ``box.lid`` holds ``colour``."""
    box, lid = ModuleType("box"), ModuleType("box.lid")
    box.__path__ = []
    lid.__dict__["colour"] = "red"
    monkeypatch.setitem(sys.modules, "box", box)
    monkeypatch.setitem(sys.modules, "box.lid", lid)
    return box


def test_a_name_is_taken_from_its_module_and_stays_in_the_package(package: ModuleType) -> None:
    find = imported_on_use("box", {"colour": "lid"})
    assert "colour" not in vars(package)
    assert find("colour") == "red"
    assert vars(package)["colour"] == "red"


def test_a_name_that_is_nowhere_is_an_attribute_error_that_names_the_package(
    package: ModuleType,
) -> None:
    with pytest.raises(AttributeError, match="module 'box' has no attribute 'shape'"):
        imported_on_use("box", {"colour": "lid"})("shape")
