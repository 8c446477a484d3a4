from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solbench.errors import InputError, SpecError
from solbench.spec import Solution, load_solution, pack, solution_digest, unpack, write_json
from solbench.spec._solution import SourceFile


def loose(folder: Path, solution: Any, sources: Any, files: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    meta = {key: value for key, value in solution.items() if key != "sources"}
    if sources is not None:
        meta["sources"] = sources
    (folder / "solution.json").write_text(json.dumps(meta))
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode())
    return folder


FILES = {"main.py": "def run(x, f): return x * f\r\n", "lib/a.py": "é = 1\n"}


@pytest.mark.parametrize(
    "sources",
    [None, ["lib/a.py", "main.py"], [{"path": "lib/a.py"}, {"path": "main.py"}]],
)
def test_loose_sources_are_packed(tmp_path: Path, solution: Any, sources: Any) -> None:
    folder = loose(tmp_path / "s", solution, sources, FILES)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "main.pyc").write_bytes(b"\xff\x00")
    (folder / ".hidden").write_bytes(b"\xff")
    packed = pack(folder)
    assert {source.path: source.content for source in packed.sources} == FILES
    assert [source.path for source in packed.sources] == ["lib/a.py", "main.py"]
    assert packed == load_solution(folder) == load_solution(folder / "solution.json")


def test_pack_then_unpack_then_pack_gives_the_same_bytes(tmp_path: Path, solution: Any) -> None:
    packed = pack(loose(tmp_path / "s", solution, None, FILES))
    write_json(tmp_path / "one.json", packed)
    unpack(load_solution(tmp_path / "one.json"), tmp_path / "t")
    assert (tmp_path / "t" / "lib" / "a.py").read_bytes() == FILES["lib/a.py"].encode()
    assert (tmp_path / "t" / "main.py").read_bytes() == FILES["main.py"].encode()
    write_json(tmp_path / "two.json", pack(tmp_path / "t"))
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    unpack(packed, tmp_path / "t")  # again, onto the same content


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), min_size=1, max_size=4))
def test_any_source_text_survives_the_round_trip(contents: list[str]) -> None:
    import tempfile

    sources = [
        SourceFile(path=f"d{index}/f.py", content=text) for index, text in enumerate(contents)
    ]
    solution = Solution.model_validate(
        {
            "name": "n",
            "definition": "d",
            "author": "a",
            "spec": {
                "languages": ["pytorch"],
                "target_hardware": ["LOCAL"],
                "entry_point": "d0/f.py::run",
            },
            "sources": sources,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        unpack(solution, folder)
        assert solution_digest(pack(folder)) == solution_digest(solution)


def test_unpacking_never_overwrites_other_content(tmp_path: Path, solution: Any) -> None:
    loaded = Solution.model_validate(solution)
    (tmp_path / "main.py").write_text("mine")
    with pytest.raises(InputError, match=r"main.py: exists already with other content"):
        unpack(loaded, tmp_path)
    assert (tmp_path / "main.py").read_text() == "mine"
    assert not (tmp_path / "solution.json").exists()


def test_unpacking_does_not_follow_links_out_of_the_folder(tmp_path: Path, solution: Any) -> None:
    solution["sources"].append({"path": "lib/evil.py", "content": ""})
    target = tmp_path / "t"
    target.mkdir()
    (target / "lib").symlink_to(tmp_path)
    with pytest.raises(InputError, match="behind a link"):
        unpack(Solution.model_validate(solution), target)


def test_packing_does_not_follow_links_out_of_the_folder(tmp_path: Path, solution: Any) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = loose(tmp_path / "s", solution, ["main.py", "secret"], FILES)
    (folder / "secret").symlink_to(tmp_path / "secret")
    with pytest.raises(SpecError, match=r"sources\[1\]: 'secret' is a link that leaves the folder"):
        pack(folder)


@pytest.mark.parametrize(
    ("sources", "what"),
    [
        (["main.py", "absent.py"], r"sources\[1\]: 'absent.py' has no content here and no file"),
        (["../main.py"], "leaves its folder"),
        ([], "sources: "),
        ([3], r"sources\[0\]: should be a JSON object"),
        ("main.py", "sources: should be a valid array"),
        ([{"content": "x"}], r"sources\[0\].path: is missing"),
    ],
)
def test_sources_that_cannot_be_found_are_named(
    tmp_path: Path, solution: Any, sources: Any, what: str
) -> None:
    folder = loose(tmp_path / "s", solution, sources, {"main.py": ""})
    with pytest.raises(SpecError, match=what):
        pack(folder)


def test_a_folder_without_sources_or_solution_is_an_error(tmp_path: Path, solution: Any) -> None:
    with pytest.raises(SpecError, match=r"holds no solution.json.*'solbench new' writes one"):
        pack(tmp_path)
    with pytest.raises(SpecError, match="no source lies beside it"):
        pack(loose(tmp_path / "s", solution, None, {}))
    with pytest.raises(InputError, match="is no folder"):
        pack(tmp_path / "absent")


def test_a_binary_source_is_refused(tmp_path: Path, solution: Any) -> None:
    folder = loose(tmp_path / "s", solution, None, FILES)
    (folder / "weights.bin").write_bytes(b"\xff\x00")
    with pytest.raises(SpecError, match=r"weights.bin:1: byte 0xff is not UTF-8"):
        pack(folder)


def test_a_source_named_like_the_listing_cannot_be_unpacked(tmp_path: Path, solution: Any) -> None:
    solution["sources"].append({"path": "solution.json", "content": "{}"})
    with pytest.raises(InputError, match=r"a source is named solution.json"):
        unpack(Solution.model_validate(solution), tmp_path)
