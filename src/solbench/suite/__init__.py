"""The bundled suite: our own problems, one small file each, in ``l1/ l2/ quant/ fib/``.

Listing and exporting do not import torch.
"""

from __future__ import annotations

from solbench.suite._catalogue import TIER_FOLDERS, catalogue, names, source_of
from solbench.suite._composition import (
    TARGET,
    TARGET_MODELS,
    Composition,
    TierCount,
    composition,
    precision,
)
from solbench.suite._draw import computed, draw
from solbench.suite._export import SMOKE_FILE, build, export, load
from solbench.suite._form import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Gate,
    Gradient,
    Input,
    Model,
    Problem,
    Rows,
    Scalar,
    SuitePolicy,
    TensorType,
    activation,
    rows,
    scalar,
    tensor_type,
    var,
    weight,
)
from solbench.suite._held_out import held_out
from solbench.suite._source import ProblemSource, read_problem_file

__all__ = [
    "EVERY_KIND",
    "KEY_KINDS",
    "QUERY_KINDS",
    "SMOKE_FILE",
    "TARGET",
    "TARGET_MODELS",
    "TIER_FOLDERS",
    "Composition",
    "Gate",
    "Gradient",
    "Input",
    "Model",
    "Problem",
    "ProblemSource",
    "Rows",
    "Scalar",
    "SuitePolicy",
    "TensorType",
    "TierCount",
    "activation",
    "build",
    "catalogue",
    "composition",
    "computed",
    "draw",
    "export",
    "held_out",
    "load",
    "names",
    "precision",
    "read_problem_file",
    "rows",
    "scalar",
    "source_of",
    "tensor_type",
    "var",
    "weight",
]
