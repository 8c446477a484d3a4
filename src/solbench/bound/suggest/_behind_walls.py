"""The half that runs behind walls: execute a rule's text, lift calls with it, hand back plain data.

Everything of SolBench that it needs is imported before the walls are raised; after that the text is executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from solbench.bound._lift import lift
from solbench.bound.graph import Graph
from solbench.bound.ir._write import LiftedProgram, document
from solbench.bound.rules import RULES


def lifted_documents(text: str, calls: Sequence[Graph]) -> list[dict[str, Any]]:
    """What the rule makes of every call. Whatever the text raises is raised here.

    ``calls`` are graphs of one call each; a rule that is there for it already is replaced.
    """
    for call in calls:
        RULES.pop(call.nodes[-1].op, None)
    exec(compile(text, "<suggested rule>", "exec", dont_inherit=True), {"__name__": "suggested"})
    return [document(LiftedProgram(lift(call), "call", "", "values")) for call in calls]
