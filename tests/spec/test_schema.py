from __future__ import annotations

import pytest

from solbench.errors import InputError
from solbench.spec import SCHEMAS, schema


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_every_model_has_a_schema(name: str) -> None:
    found = schema(name)
    assert found["type"] == "object"
    assert found["$schema"].startswith("https://json-schema.org/")


def test_required_keys_are_the_official_ones() -> None:
    assert schema("definition")["required"] == ["name", "axes", "inputs", "outputs", "reference"]
    assert schema("workload")["required"] == ["uuid"]
    assert schema("solution")["required"] == ["name", "definition", "author", "spec", "sources"]
    assert schema("trace")["required"] == ["definition", "solution", "workload", "evaluation"]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'problem'. Use one of: definition, workload"):
        schema("problem")
