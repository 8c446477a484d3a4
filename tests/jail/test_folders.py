"""Temporary folders of owners that may be killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from solbench.jail import _folders
from solbench.jail._folders import OwnedFolder


@pytest.fixture(autouse=True)
def _no_folder_is_young(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_folders, "_YOUNG_S", -1.0)


def _left_by_a_killed_owner(place: Path) -> Path:
    owner = (
        "import os, sys; from pathlib import Path; from solbench.jail._folders import OwnedFolder; "
        "folder = OwnedFolder('owned-', Path(sys.argv[1])); print(folder.path, flush=True); "
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", owner, str(place)], capture_output=True, text=True, check=False
    )
    return Path(done.stdout.strip())


def test_the_next_owner_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    left = _left_by_a_killed_owner(tmp_path)
    assert left.is_dir()
    with OwnedFolder("owned-", tmp_path) as mine:
        assert not left.exists()
        assert mine.is_dir()
    assert not mine.exists()


def test_a_living_owners_folder_is_left_alone(tmp_path: Path) -> None:
    with OwnedFolder("owned-", tmp_path) as first, OwnedFolder("owned-", tmp_path) as second:
        assert first.is_dir()
        assert second.is_dir()


def test_other_names_links_and_young_folders_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / "owned-link").symlink_to(tmp_path / "target")
    OwnedFolder("owned-", tmp_path).remove()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["other", "owned-link", "target"]
    monkeypatch.setattr(_folders, "_YOUNG_S", 60.0)
    (tmp_path / "owned-young").mkdir()
    OwnedFolder("owned-", tmp_path).remove()
    assert (tmp_path / "owned-young").is_dir()


def test_removing_twice_is_harmless(tmp_path: Path) -> None:
    folder = OwnedFolder("owned-", tmp_path)
    folder.remove()
    folder.remove()
    assert not folder.path.exists()
