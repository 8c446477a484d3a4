"""What untrusted code holds in files is found, also where it has no name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from solbench.jail import _files
from solbench.jail._files import Files

MIB = 1 << 20


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Free bytes of the file system, as its one entry says."""
    said = [100 * MIB]
    monkeypatch.setattr(_files, "_free_bytes", lambda folder: said[0])
    return said


def test_files_count_by_the_blocks_that_they_take(tmp_path: Path, free: list[int]) -> None:
    files = Files(tmp_path)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(bytes(MIB))
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 50 * MIB)
    assert MIB <= files.bytes([], 10 * MIB) < 2 * MIB


def test_a_file_without_a_name_counts_once_the_disk_has_lost_much(
    tmp_path: Path, free: list[int]
) -> None:
    files = Files(tmp_path)
    held = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(held, bytes(4 * MIB))
    (tmp_path / "file").unlink()
    try:
        assert files.bytes([os.getpid()], 2 * MIB) == 0  # the disk is as it was
        free[0] -= 4 * MIB
        assert files.bytes([os.getpid()], 2 * MIB) >= 4 * MIB
    finally:
        os.close(held)


def test_what_others_take_is_not_held_against_it(tmp_path: Path, free: list[int]) -> None:
    files = Files(tmp_path)
    free[0] -= 50 * MIB
    assert files.bytes([os.getpid()], 2 * MIB) == 0
    free[0] -= 1 * MIB
    assert files.bytes([os.getpid()], 2 * MIB) == 0


def test_what_cannot_be_counted_is_held_against_it(
    tmp_path: Path, free: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "_EVER_COUNTED", 3)
    files = Files(tmp_path)
    for number in range(5):
        (tmp_path / f"{number}").touch()
    assert files.bytes([], 2 * MIB) == 0
    free[0] -= 50 * MIB
    assert files.bytes([], 2 * MIB) == 50 * MIB
