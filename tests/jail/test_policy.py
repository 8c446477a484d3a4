"""Which files a jailed process may reach."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from solbench.jail import walls
from solbench.jail.walls import _policy


def test_a_tree_without_its_excluded_parts_is_named_piece_by_piece(tmp_path: Path) -> None:
    for path in ("a/x", "a/y/z", "b"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "file").touch()
    expected = [tmp_path / "a" / "x", tmp_path / "b", tmp_path / "file"]
    assert _policy.tree_without(tmp_path, [tmp_path / "a" / "y"]) == [
        str(path) for path in expected
    ]
    assert _policy.tree_without(tmp_path, [tmp_path.parent / "other"]) == [str(tmp_path)]
    assert _policy.tree_without(tmp_path, [tmp_path]) == []


def test_no_allowed_path_leads_to_solbench_or_its_checkout() -> None:
    import solbench

    package = Path(solbench.__file__).resolve().parent
    allowed = walls.worker_allow_list(
        artifact="/nonexistent/artifact", scratch="/nonexistent/scratch", compilers=True, cuda=True
    )
    trees = (*allowed.read, *allowed.execute, *allowed.device, *allowed.scratch)
    assert not [tree for tree in trees if package.is_relative_to(Path(tree).resolve())]
    assert not [tree for tree in trees if Path(tree).name.endswith(".pth") and "solbench" in tree]


def test_installed_packages_and_the_standard_library_are_allowed() -> None:
    import json

    import torch

    found = [Path(path) for path in _policy.python_files()]
    for module in (torch, json):
        file = Path(str(module.__file__)).resolve()
        assert any(file.is_relative_to(path) for path in found)


def test_no_home_temporary_or_whole_process_folder_is_allowed() -> None:
    allowed = walls.worker_allow_list(
        artifact="/nonexistent/artifact", scratch="/nonexistent/scratch", compilers=True, cuda=False
    )
    trees = {Path(tree) for tree in (*allowed.read, *allowed.execute, *allowed.device)}
    forbidden = {Path(p) for p in ("/", "/tmp", "/proc", "/dev", "/home", "/root", "/var", "/etc")}
    assert not trees & {*forbidden, Path.home()}


def test_compilers_are_only_for_those_who_need_them() -> None:
    allowed = walls.worker_allow_list(
        artifact="/nonexistent/artifact", scratch="/nonexistent/scratch", compilers=False, cuda=True
    )
    assert allowed.execute == ()


def test_packages_installed_into_a_folder_of_their_own_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, plain = tmp_path / "site", tmp_path / "mine"
    for folder in (installed / "wheel", installed / "wheel-1.0.dist-info", plain / "problems"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(installed), str(plain), ""])
    found = _policy.python_files.__wrapped__()
    assert str(installed / "wheel") in found
    assert not any(path.startswith(str(plain)) for path in found)


def test_a_library_folder_above_the_checkout_does_not_open_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("lib", "checkout/src/solbench", "checkout/problems"):
        (tmp_path / path).mkdir(parents=True)
    monkeypatch.setattr(_policy, "excluded_trees", lambda: (tmp_path / "checkout",))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}:relative:{tmp_path}/missing")
    assert _policy._libraries() == (str(tmp_path / "lib"),)
