"""A starting solution for a problem, in any language: it builds, runs, and gives zeros."""

from __future__ import annotations

from solbench.starter._starter import BINDINGS, LANGUAGES, starting_solution

__all__ = ["BINDINGS", "LANGUAGES", "starting_solution"]
