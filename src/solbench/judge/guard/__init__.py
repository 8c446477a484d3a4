"""What a submission's text says about its intentions: signals for a reader, never the gate.

``review(solution)`` runs every rule over the sources; nothing is executed or built. A rule is a small
registered function in ``rules/``. Whether a submission passes is decided elsewhere, by what it does.
"""

from __future__ import annotations

from solbench.judge.guard._authorship import (
    Authorship,
    kernel_authorship,
    library_flags,
)
from solbench.judge.guard._binary import review_artifact, review_binary
from solbench.judge.guard._finding import Finding, Severity
from solbench.judge.guard._neutral import neutral_source
from solbench.judge.guard._registry import Rule, all_rules
from solbench.judge.guard._review import is_suspicious, review
from solbench.judge.guard._reviewer import (
    ModelReviewer,
    Opinion,
    Reviewer,
    SecondOpinion,
    second_opinion,
)
from solbench.judge.guard._tables import (
    KernelTable,
    KernelTime,
    Launch,
    OperationTable,
    OperationTime,
    read_kernel_table,
    read_operation_table,
)

__all__ = [
    "Authorship",
    "Finding",
    "KernelTable",
    "KernelTime",
    "Launch",
    "ModelReviewer",
    "OperationTable",
    "OperationTime",
    "Opinion",
    "Reviewer",
    "Rule",
    "SecondOpinion",
    "Severity",
    "all_rules",
    "is_suspicious",
    "kernel_authorship",
    "library_flags",
    "neutral_source",
    "read_kernel_table",
    "read_operation_table",
    "review",
    "review_artifact",
    "review_binary",
    "second_opinion",
]
