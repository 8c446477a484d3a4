"""Rules: one file an op family. Every file of this package is imported, and registers its rules."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from solbench.bound.rules._base import RULES, Call, MissingRule, find, rule
from solbench.bound.rules._user import load_rules, rules_digest

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")

__all__ = ["RULES", "Call", "MissingRule", "find", "load_rules", "rule", "rules_digest"]
