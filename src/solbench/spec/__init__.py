"""The exchanged data: definitions, workloads, solutions and traces; their files, inputs and outputs.

Nothing here imports torch until inputs are made or outputs are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solbench._lazy import imported_on_use
from solbench.spec._axes import evaluate, holds, parse_expression
from solbench.spec._check import Finding, check
from solbench.spec._check_solution import signature_error
from solbench.spec._definition import (
    Axis,
    ConstAxis,
    Definition,
    ExprAxis,
    GateMultipliers,
    ModelSource,
    OwnRecord,
    Policy,
    TensorSpec,
    VarAxis,
    VariationKind,
)
from solbench.spec._document import read_json_text
from solbench.spec._dtypes import DTYPES, Dtype, dtype_of, torch_dtype
from solbench.spec._problem import Problem, load_problem, make_problem
from solbench.spec._python_source import parse_python
from solbench.spec._reference import (
    load_entrypoint,
    load_reference,
    reference_failure,
    reference_file,
)
from solbench.spec._schema import SCHEMAS, schema
from solbench.spec._solution import (
    NATIVE_LANGUAGES,
    PYTHON_LANGUAGES,
    Binding,
    CompileOptions,
    Language,
    Solution,
    SolutionSpec,
    SourceFile,
)
from solbench.spec._solution_files import load_solution, pack, unpack
from solbench.spec._trace import (
    Correctness,
    Environment,
    Evaluation,
    Flag,
    GuardFinding,
    Performance,
    SolBenchRecord,
    Status,
    Timing,
    Trace,
)
from solbench.spec._traces import read_trace_lines, read_traces
from solbench.spec._workload import (
    CustomInput,
    InputDescriptor,
    RandomInput,
    SafetensorsInput,
    ScalarInput,
    Tolerance,
    Workload,
)
from solbench.spec._writing import (
    definition_digest,
    json_line,
    json_text,
    problem_digest,
    solution_digest,
    trace_line,
    workload_digest,
    workload_line,
    write_json,
)

if TYPE_CHECKING:
    from solbench.spec._containment import contained
    from solbench.spec._inputs import (
        InputLayout,
        InputValue,
        axes_and_scalars,
        input_layout,
        make_inputs,
    )
    from solbench.spec._outputs import normalise_outputs
    from solbench.spec._packing import pack_float4, unpack_float4

_WITH_TORCH = {
    "InputLayout": "_inputs",
    "InputValue": "_inputs",
    "axes_and_scalars": "_inputs",
    "input_layout": "_inputs",
    "make_inputs": "_inputs",
    "normalise_outputs": "_outputs",
    "pack_float4": "_packing",
    "contained": "_containment",
    "unpack_float4": "_packing",
}
"""Name → the module that defines it and imports torch."""

__all__ = [
    "DTYPES",
    "NATIVE_LANGUAGES",
    "PYTHON_LANGUAGES",
    "SCHEMAS",
    "Axis",
    "Binding",
    "CompileOptions",
    "ConstAxis",
    "Correctness",
    "CustomInput",
    "Definition",
    "Dtype",
    "Environment",
    "Evaluation",
    "ExprAxis",
    "Finding",
    "Flag",
    "GateMultipliers",
    "GuardFinding",
    "InputDescriptor",
    "InputLayout",
    "InputValue",
    "Language",
    "ModelSource",
    "OwnRecord",
    "Performance",
    "Policy",
    "Problem",
    "RandomInput",
    "SafetensorsInput",
    "ScalarInput",
    "SolBenchRecord",
    "Solution",
    "SolutionSpec",
    "SourceFile",
    "Status",
    "TensorSpec",
    "Timing",
    "Tolerance",
    "Trace",
    "VarAxis",
    "VariationKind",
    "Workload",
    "axes_and_scalars",
    "check",
    "contained",
    "definition_digest",
    "dtype_of",
    "evaluate",
    "holds",
    "input_layout",
    "json_line",
    "json_text",
    "load_entrypoint",
    "load_problem",
    "load_reference",
    "load_solution",
    "make_inputs",
    "make_problem",
    "normalise_outputs",
    "pack",
    "pack_float4",
    "parse_expression",
    "parse_python",
    "problem_digest",
    "read_json_text",
    "read_trace_lines",
    "read_traces",
    "reference_failure",
    "reference_file",
    "schema",
    "signature_error",
    "solution_digest",
    "torch_dtype",
    "trace_line",
    "unpack",
    "unpack_float4",
    "workload_digest",
    "workload_line",
    "write_json",
]

__getattr__ = imported_on_use(__name__, _WITH_TORCH)
