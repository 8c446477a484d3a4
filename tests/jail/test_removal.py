"""Folders that untrusted code has filled go, whatever they are like."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from solbench.jail._removal import remove_tree


def test_a_folder_deeper_than_a_call_stack_and_a_path_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "top"
    top.mkdir()
    monkeypatch.chdir(top)
    for _ in range(1100):
        os.mkdir("deep")  # noqa: PTH102 - relative to where we are
        os.chdir("deep")
    Path("file").touch()
    os.chdir(tmp_path)
    remove_tree(top)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_may_not_be_entered_go(tmp_path: Path) -> None:
    inner = tmp_path / "top" / "closed" / "closed"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    inner.chmod(0)
    inner.parent.chmod(0)
    remove_tree(tmp_path / "top")
    assert list(tmp_path.iterdir()) == []


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(kept)
    (top / "dangling").symlink_to("nowhere")
    remove_tree(top)
    assert [path.name for path in tmp_path.rglob("*")] == ["kept", "file"]
    remove_tree(top)  # not there: no error


def test_a_link_in_place_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "link")
    assert (tmp_path / "kept" / "file").exists()


def test_what_takes_too_long_stays(tmp_path: Path) -> None:
    (tmp_path / "top" / "inner").mkdir(parents=True)
    remove_tree(tmp_path / "top", seconds=-1.0)
    assert (tmp_path / "top" / "inner").is_dir()
