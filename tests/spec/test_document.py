from __future__ import annotations

import json
from pathlib import Path

import pytest

from solbench.errors import SpecError, SpecErrors
from solbench.spec import Solution
from solbench.spec._document import json_lines, parse_json, read_json_text, read_text
from solbench.spec._json_positions import dotted, scan

TEXT = """{
  "name": "a, [b] {c}: \\"d\\"",
  "axes": {
    "m": {"type": "var"},
    "n": {"value":
      3}
  },
  "list": [1, {"k": [true, null,
    "x"]}]
}"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("axes", "m", "type"), 4),
        (("axes", "n", "value"), 5),
        (("list", 0), 8),
        (("list", 1, "k", 1), 8),
        (("list", 1, "k", 2), 9),
        (("axes", "n", "absent"), 5),  # the nearest part that exists
        (("absent",), 1),
    ],
)
def test_a_key_path_is_found_on_its_line(path: tuple[str | int, ...], line: int) -> None:
    assert parse_json(TEXT, "file").line_of(path) == line


def test_key_paths_print_as_they_are_written() -> None:
    assert dotted(("sources", 0, "path")) == "sources[0].path"
    assert dotted(()) == ""


def test_the_scan_finds_repeated_keys_and_odd_numbers() -> None:
    found = scan('{"a": 1, "b": {"a": NaN, "a": [-Infinity, 1e999, -2]}}')
    assert [path for path, _ in found.repeated_keys] == [("b", "a")]
    assert [(path, word) for path, _, word in found.not_finite] == [
        (("b", "a"), "NaN"),
        (("b", "a", 0), "-Infinity"),
        (("b", "a", 1), "1e999"),
    ]


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("", "is empty", 1),
        (" \n\t", "is empty", 1),
        ('{"a": 1,\n "b" 2}', "is not JSON", 2),
        ('{"a": 1} x', "is not JSON", 1),
        ('{"a":\n NaN}', "NaN is not a finite number", 2),
        ('{"a":\n {"b": 1e400}}', "1e400 is not a finite number", 2),
        ('{"a": 1,\n "a": 2}', "stands twice", 2),
        ("[" * 100_000, "nested too deeply", 1),
        ("[" * 65 + "]" * 65, "nested deeper than 64 levels", 1),
        ('{"a": ' + "9" * 5000 + "}", "too many digits", 1),
        ('{"a": "\\ud800"}', "surrogate", 1),
    ],
)
def test_text_that_is_no_strict_json_is_refused_with_its_line(
    text: str, what: str, line: int
) -> None:
    with pytest.raises(SpecError, match=what) as caught:
        parse_json(text, "file.json")
    assert (caught.value.file, caught.value.line) == ("file.json", line)


def test_a_whole_surrogate_pair_is_text() -> None:
    assert parse_json('"\\ud83d\\ude00"', "file").value == "😀"


def test_all_odd_literals_of_a_text_are_reported_together() -> None:
    with pytest.raises(SpecErrors) as caught:
        parse_json('{"a": NaN,\n "b": Infinity,\n "b": 1}', "file")
    assert [error.line for error in caught.value.errors] == [3, 1, 2]


@pytest.mark.parametrize(
    ("content", "what", "line"),
    [
        (b"\xef\xbb\xbf{}", "byte order mark", 1),
        ("{}".encode("utf-16"), "byte order mark", 1),
        (b'{\n"a": "\xe9"}', "byte 0xe9 is not UTF-8", 2),
    ],
)
def test_bytes_that_are_no_plain_utf8_are_refused(
    tmp_path: Path, content: bytes, what: str, line: int
) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(content)
    with pytest.raises(SpecError, match=what) as caught:
        read_text(file)
    assert caught.value.line == line


@pytest.mark.parametrize("name", [".", "absent.json", "nul\0", "x" * 300])
def test_a_file_that_cannot_be_opened_is_an_error_of_its_own(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        read_text(tmp_path / name)


def test_lines_keep_their_numbers_and_their_errors(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1}\n\n{"a": }\r\n{"a": 3}')
    first, second, third = json_lines(file)
    assert not isinstance(first, SpecError) and first.value == {"a": 1}
    assert isinstance(second, SpecError) and second.line == 3
    assert not isinstance(third, SpecError) and (third.value, third.first_line) == ({"a": 3}, 4)


def test_a_list_whose_only_item_is_wrong_is_not_called_empty_too() -> None:
    solution = {
        "name": "x", "definition": "d", "author": "me", "sources": [],
        "spec": {"languages": ["cobol"], "target_hardware": ["LOCAL"], "entry_point": "k.py::run"},
    }  # fmt: skip
    with pytest.raises(SpecErrors) as raised:
        read_json_text(Solution, json.dumps(solution), "file")
    found = {error.key: str(error) for error in raised.value.errors}
    assert set(found) == {"spec.languages[0]", "sources"}
    assert found["sources"].endswith("sources: is empty. It needs 1 at least.")
