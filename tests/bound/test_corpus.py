"""Whole models with inputs of real sizes: analysed without a gap, and without making those inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from solbench.bound import Bound, derive_bound, module_program

FOLDER = Path(__file__).parent / "corpus"
MODULES = sorted(FOLDER.glob("*.py"))
pytestmark = pytest.mark.filterwarnings("ignore")


def _bound(name: str) -> Bound:
    (bound,) = derive_bound(module_program(FOLDER / f"{name}.py"), "h200")
    return bound


@pytest.mark.parametrize("module", [m.stem for m in MODULES])
def test_a_model_is_analysed_completely(module: str) -> None:
    bound = _bound(module)
    assert bound.error is None
    assert bound.unknown_ops == ()
    assert bound.t_sol_ms is not None and bound.t_sol_ms > 0


def test_a_decoder_layer_by_hand() -> None:
    tokens, width, key, feed_forward, length = 2 * 2048, 4096, 1024, 14336, 2048
    projections = 2 * tokens * width * (2 * width + 2 * key)
    attention = 2 * 2 * 2 * 32 * (length * (length + 1) // 2) * 128
    mlp = 3 * 2 * tokens * width * feed_forward
    assert _bound("llama_block").matrix_flops == {"bf16": projections + attention + mlp}


def test_an_encoder_and_a_causal_decoder_by_hand() -> None:
    wide, narrow, width = 16 * 512, 16 * 256, 512  # tokens of source and target
    encoder = 2 * wide * width * 4 * width + 2 * 2 * 16 * 512 * 512 * width
    encoder += 2 * 2 * wide * width * 2048
    own = 2 * narrow * width * 4 * width + 2 * 2 * 16 * (256 * 257 // 2) * width
    cross = 2 * narrow * width * 2 * width + 2 * wide * width * 2 * width
    cross += 2 * 2 * 16 * 256 * 512 * width
    decoder = own + cross + 2 * 2 * narrow * width * 2048
    assert _bound("encoder_module").matrix_flops == {"fp32": 4 * encoder + 2 * decoder}


def test_routed_experts_cost_the_tokens_that_they_get() -> None:
    tokens, width, hidden, experts, chosen = 512, 1024, 2048, 8, 2
    router = 2 * tokens * width * experts
    assert _bound("moe_dense_mask").matrix_flops == {
        "fp32": router + tokens * chosen * 3 * 2 * width * hidden
    }


def test_an_optimizer_step_reads_four_tensors_and_writes_three() -> None:
    bound = _bound("adam_step")
    assert bound.dram_read_bytes == 4 * 16384 * 4096 * 4
    assert bound.dram_write_bytes == 3 * 16384 * 4096 * 4


def test_terabytes_are_never_made() -> None:
    bound = _bound("terabytes")
    assert bound.dram_read_bytes == bound.dram_write_bytes == (1 << 20) * 4
