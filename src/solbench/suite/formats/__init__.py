"""Quantised number formats: quantise, dequantise, pack, unpack, in plain torch on any device.

Self-contained, because their text is embedded into exported problems.
"""

from __future__ import annotations

from solbench.suite.formats.fp4 import (
    dequantise_nvfp4,
    pack_fp4,
    quantise_nvfp4,
    round_to_fp4,
    unpack_fp4,
)
from solbench.suite.formats.fp8 import (
    dequantise_fp8_blocks,
    dequantise_fp8_rows,
    dequantise_fp8_tensor,
    quantise_fp8_blocks,
    quantise_fp8_rows,
    quantise_fp8_tensor,
    round_to_fp8,
)
from solbench.suite.formats.mx import (
    dequantise_mxfp4,
    dequantise_mxfp8,
    quantise_mxfp4,
    quantise_mxfp8,
)

__all__ = [
    "dequantise_fp8_blocks",
    "dequantise_fp8_rows",
    "dequantise_fp8_tensor",
    "dequantise_mxfp4",
    "dequantise_mxfp8",
    "dequantise_nvfp4",
    "pack_fp4",
    "quantise_fp8_blocks",
    "quantise_fp8_rows",
    "quantise_fp8_tensor",
    "quantise_mxfp4",
    "quantise_mxfp8",
    "quantise_nvfp4",
    "round_to_fp4",
    "round_to_fp8",
    "unpack_fp4",
]
