"""The bound: a reference program becomes a graph, the graph a demand, the demand a time on a device."""

from solbench.bound._analyse import analyse
from solbench.bound._batch import Found, bound_lines, bound_record, find_programs
from solbench.bound._derive import derive_bound
from solbench.bound._explain import PlainCount, formulas, plain_count
from solbench.bound._node_check import NodeCheck
from solbench.bound._precision_result import (
    Admission,
    PlaceAdmission,
    PrecisionMode,
    Trial,
)
from solbench.bound._price import Priced, price
from solbench.bound._programs import (
    Program,
    function_program,
    module_program,
    problem_program,
)
from solbench.bound._result import Bound, Demand, NodeCost, Removed, Term, Traffic
from solbench.bound._verify import Verification, verify_graph
from solbench.bound.capture import capture

__all__ = [
    "Admission",
    "Bound",
    "Demand",
    "Found",
    "NodeCheck",
    "NodeCost",
    "PlaceAdmission",
    "PlainCount",
    "PrecisionMode",
    "Priced",
    "Program",
    "Removed",
    "Term",
    "Traffic",
    "Trial",
    "Verification",
    "analyse",
    "bound_lines",
    "bound_record",
    "capture",
    "derive_bound",
    "find_programs",
    "formulas",
    "function_program",
    "module_program",
    "plain_count",
    "price",
    "problem_program",
    "verify_graph",
]
