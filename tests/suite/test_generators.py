"""Inputs are what their generator promises, for every seed."""

from __future__ import annotations

import pytest
import torch

from solbench.errors import InputError
from solbench.suite import draw
from solbench.suite.generators import quantised, routing, sequences, values

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(3)


def test_weights_have_the_variance_that_keeps_sizes() -> None:
    made = values.weight_matrix((256, 1024), torch.float32, CPU)
    assert made.std().item() == pytest.approx(1024**-0.5, rel=0.02)
    made = values.weight_matrix((256, 1024), torch.float32, CPU, fan_in=16)
    assert made.std().item() == pytest.approx(0.25, rel=0.02)


def test_every_fourth_token_of_a_residual_stream_is_quiet() -> None:
    made = values.residual_stream((2, 6, 512), torch.float32, CPU).view(12, 512)
    size = made.pow(2).mean(-1).sqrt()
    assert bool((size[3::4] < 0.01).all())
    assert bool((size[[0, 1, 2, 4, 5, 6, 8, 9, 10]] > 0.3).all())


def test_token_ids_are_in_the_vocabulary_and_skewed() -> None:
    made = values.token_ids((20000,), torch.int64, CPU, vocabulary=1000)
    assert int(made.min()) >= 0
    assert int(made.max()) < 1000
    # log(2)/log(1000) = 10 % are the first token; under a fair draw 0.1 %.
    assert (made == 0).float().mean().item() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(("batch", "total"), [(1, 1), (1, 9), (7, 7), (5, 1000), (64, 8192)])
def test_ragged_lengths_fill_the_total(batch: int, total: int) -> None:
    made = sequences.ragged_lengths(CPU, batch, total)
    assert made["lengths"].dtype == made["indptr"].dtype == torch.int32
    assert int(made["lengths"].sum()) == int(made["indptr"][-1]) == total
    assert int(made["lengths"].min()) >= 1
    assert torch.equal(made["indptr"].diff(), made["lengths"])


def test_lengths_vary() -> None:
    lengths = sequences.ragged_lengths(CPU, 64, 65536)["lengths"].float()
    assert 0.3 < (lengths.std() / lengths.mean()).item() < 1.2


def test_pages_belong_to_one_sequence_each() -> None:
    made = sequences.page_table(CPU, 5, 40, 64, page_size=16)
    assert len(set(made["indices"].tolist())) == 40
    assert int(made["indices"].max()) < 64
    assert int(made["indptr"][-1]) == 40
    assert bool(((made["last_page_len"] >= 1) & (made["last_page_len"] <= 16)).all())


def test_a_prefill_batch_has_at_least_its_fresh_keys() -> None:
    made = sequences.prefill_batch(CPU, 6, 50, 200, pool=256)
    fresh, keys = made["qo_indptr"].diff(), made["kv_indptr"].diff()
    assert int(fresh.sum()) == 50
    assert int(keys.sum()) == 200
    assert bool((keys >= fresh).all())
    assert len(set(made["kv_indices"].tolist())) == 200


def test_rotary_tables_hold_cosine_and_sine_of_one_angle() -> None:
    made = sequences.rope_table(CPU, 7, 16)
    assert torch.allclose(made["cos"].square() + made["sin"].square(), torch.ones(7, 16))
    # The first pair turns by one radian a position.
    angle = torch.atan2(made["sin"][:, 0], made["cos"][:, 0]).double()
    assert torch.allclose(torch.cos(angle.diff()), torch.full((6,), 1.0).cos().double(), atol=1e-3)


def test_a_causal_mask_hides_later_keys_only() -> None:
    mask = sequences.causal_mask((1, 2, 4), torch.float32, CPU)[0]
    least = torch.finfo(torch.float32).min
    assert mask.tolist() == [[0, 0, 0, least], [0, 0, 0, 0]]


def test_padding_is_on_the_right_and_at_most_half() -> None:
    mask = sequences.padding_mask((50, 9), torch.bool, CPU)
    assert bool((mask[:, :-1] >= mask[:, 1:]).all())
    assert int(mask.sum(-1).min()) >= 5


def test_routing_is_skewed_distinct_and_normalised() -> None:
    made = routing.routing(CPU, 4096, 64, 8)
    assert all(len(set(row)) == 8 for row in made["indices"].tolist())
    assert torch.allclose(made["weights"].sum(-1), torch.ones(4096))
    load = torch.bincount(made["indices"].flatten().long(), minlength=64).float()
    assert (load.max() / load.mean()).item() > 1.5


def test_expert_blocks_have_a_scale_a_block_of_every_expert() -> None:
    made = quantised.fp8_expert_blocks(CPU, 2, 256, 384)
    assert made["values"].shape == (2, 256, 384)
    assert made["values"].dtype == torch.float8_e4m3fn
    assert made["scales"].shape == (2, 2, 3)


@pytest.mark.parametrize("elements", [1, 3 * 48 * 64, 1 << 26])
def test_experts_quantised_together_are_those_quantised_one_by_one(
    elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # one at a time; three, three and one; all seven
    monkeypatch.setattr(quantised, "TOGETHER", elements)
    torch.manual_seed(5)
    together = quantised.nvfp4_expert_blocks(CPU, 7, 48, 64)
    torch.manual_seed(5)
    alone = [quantised.nvfp4_blocks(CPU, 48, 64, fan_in=64) for _ in range(7)]
    for key, made in together.items():
        assert made.dtype == alone[0][key].dtype
        assert made.shape == (7, *alone[0][key].shape)
        bits = [each[key].reshape(-1).view(torch.uint8) for each in alone]
        assert torch.equal(made.reshape(-1).view(torch.uint8), torch.cat(bits))


def test_an_unknown_generator_or_parameter_is_named() -> None:
    with pytest.raises(InputError, match=r"no generator 'norml'.*normal"):
        draw.norml()
    with pytest.raises(InputError, match=r"'normal' has no parameter sigma.*mean, std"):
        draw.normal(sigma=2)
