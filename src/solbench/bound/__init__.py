"""The bound: a reference program becomes a graph, the graph a demand, the demand a time on a device."""

from solbench.bound._analyse import analyse
from solbench.bound._batch import Found, bound_lines, bound_record, find_programs
from solbench.bound._cache_report import CacheLevel, CachePiece, CacheReport, cache_report
from solbench.bound._compare import Difference, compare_records
from solbench.bound._confidence import Confidence, confidence
from solbench.bound._derive import derive_bound
from solbench.bound._explain import PlainCount, formulas, plain_count
from solbench.bound._node_check import NodeCheck
from solbench.bound._ops import Coverage, OpUse, RuleInfo, coverage, list_rules
from solbench.bound._picture import graph_svg
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
from solbench.bound._result import (
    Bound,
    Chain,
    Contraction,
    Demand,
    NodeCost,
    Removed,
    Term,
    Traffic,
)
from solbench.bound._verify import Verification, verify_graph
from solbench.bound.capture import capture
from solbench.bound.rules import load_rules, rules_digest

__all__ = [
    "Admission",
    "Bound",
    "CacheLevel",
    "CachePiece",
    "CacheReport",
    "Chain",
    "Confidence",
    "Contraction",
    "Coverage",
    "Demand",
    "Difference",
    "Found",
    "NodeCheck",
    "NodeCost",
    "OpUse",
    "PlaceAdmission",
    "PlainCount",
    "PrecisionMode",
    "Priced",
    "Program",
    "Removed",
    "RuleInfo",
    "Term",
    "Traffic",
    "Trial",
    "Verification",
    "analyse",
    "bound_lines",
    "bound_record",
    "cache_report",
    "capture",
    "compare_records",
    "confidence",
    "coverage",
    "derive_bound",
    "find_programs",
    "formulas",
    "function_program",
    "graph_svg",
    "list_rules",
    "load_rules",
    "module_program",
    "plain_count",
    "price",
    "problem_program",
    "rules_digest",
    "verify_graph",
]
