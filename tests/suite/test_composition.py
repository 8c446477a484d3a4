"""The suite holds what it was planned to hold, by tier, family, direction and model."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict

from solbench.suite import (
    TARGET,
    TARGET_MODELS,
    ProblemSource,
    catalogue,
    composition,
    precision,
)

L1 = {
    "attention": ("attention",),
    "norms": ("norm",),
    "RoPE and positional": ("rope", "positional"),
    "routing and experts": ("moe",),
    "activations and MLP parts": ("activation",),
    "projections": ("projection",),
    "convolutions and vision": ("convolution",),
    "SSM and recurrent": ("ssm",),
    "other": ("embedding", "loss", "quantise"),
}
L2 = {
    "decoder and encoder layers": ("decoder_layer", "encoder_layer"),
    "MoE layers": ("moe_layer",),
    "attention blocks": ("attention_block",),
    "vision and diffusion blocks": ("vision_block", "diffusion_block"),
    "SSM, Mamba-2, linear attention": ("ssm_block",),
    "MLP blocks": ("mlp_block",),
    "audio, embedding": ("audio_block", "embedding_block"),
}


def families(tier: str) -> Counter[str]:
    return Counter(s.problem.family for s in catalogue().values() if s.problem.tier == tier)


def grouped(tier: str, groups: dict[str, tuple[str, ...]]) -> dict[str, int]:
    counts = families(tier)
    assert set(counts) == {family for group in groups.values() for family in group}
    return {name: sum(counts[family] for family in group) for name, group in groups.items()}


def test_every_tier_has_exactly_its_problems() -> None:
    counted = composition(catalogue().values())
    assert {each.tier: each.problems for each in counted.tiers} == TARGET
    assert TARGET == {"L1": 94, "L2": 82, "Quant": 33, "FIB": 26}
    assert sum(each.forward for each in counted.tiers) == 189
    assert sum(each.backward for each in counted.tiers) == 46


def test_models_and_their_domains_are_as_planned() -> None:
    counted = composition(catalogue().values())
    assert counted.models == TARGET_MODELS == 124
    assert counted.domains == {
        "language": 61, "diffusion": 24, "multimodal": 22, "vision": 6, "audio": 9, "video": 2,
    }  # fmt: skip


def test_every_configuration_was_read() -> None:
    assert composition(catalogue().values()).read == TARGET_MODELS


def test_where_sizes_were_read_is_a_place_not_an_address() -> None:
    places = {m.read for s in catalogue().values() for m in s.problem.models if m.read}
    assert [place for place in places if "://" in place] == []


def test_a_model_has_one_domain() -> None:
    named = {m.id: set[str]() for s in catalogue().values() for m in s.problem.models}
    for source in catalogue().values():
        for model in source.problem.models:
            named[model.id].add(model.domain)
    assert {name: domains for name, domains in named.items() if len(domains) > 1} == {}


def test_a_problem_names_a_model_once() -> None:
    for source in catalogue().values():
        ids = [model.id for model in source.problem.models]
        assert len(ids) == len(set(ids)), source.name


def canonical(source: str) -> str:
    """The program without names of its own and without docstrings."""
    tree, names = ast.parse(source), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:]
        for field in ("id", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                setattr(node, field, names.setdefault(name, str(len(names))))
    return ast.dump(tree)


def test_no_two_problems_differ_in_names_only() -> None:
    """The serving primitives are the same programs at other sizes, each family in one file."""
    programs = defaultdict[str, list[ProblemSource]](list)
    for source in catalogue().values():
        programs[canonical(source.reference)].append(source)
    for alike in (each for each in programs.values() if len(each) > 1):
        assert {source.problem.tier for source in alike} == {"FIB"}
        assert len({source.file for source in alike}) == 1
        sizes = [tuple(source.problem.axes.items()) for source in alike]
        assert len(set(sizes)) == len(sizes)


def test_operators_by_kind() -> None:
    assert list(grouped("L1", L1).values()) == [24, 13, 20, 10, 7, 5, 7, 4, 4]


def test_blocks_by_kind() -> None:
    assert list(grouped("L2", L2).values()) == [18, 18, 24, 10, 5, 5, 2]


def test_quantised_problems_by_format() -> None:
    formats = Counter(
        precision(s.problem) for s in catalogue().values() if s.problem.tier == "Quant"
    )
    assert formats == {"float8_e4m3fn": 18, "float4_e2m1fn_x2": 15}


def test_serving_primitives_by_name() -> None:
    kinds = Counter(
        next(kind for kind in SERVING if source.name.startswith(kind))
        for source in catalogue().values()
        if source.problem.tier == "FIB"
    )
    assert kinds == SERVING


SERVING = {
    "fused_add_rmsnorm": 3, "rmsnorm": 6, "gemm": 8, "gqa_paged_decode": 2, "gqa_paged_prefill": 2,
    "gqa_ragged_prefill": 2, "mla_paged": 2, "moe_fp8_block_scale": 1,
}  # fmt: skip


def test_problems_do_not_differ_in_their_sizes_alone() -> None:
    """But in the serving tier, whose norms and products are families by design."""
    seen: dict[str, str] = {}
    for source in catalogue().values():
        if source.problem.tier == "FIB":
            continue
        twin = seen.setdefault(source.reference, source.name)
        assert twin == source.name or source.file.name == catalogue()[twin].file.name
