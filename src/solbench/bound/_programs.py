"""Programs that a bound can be derived for: problems, plain functions, and ``Model`` modules."""

from __future__ import annotations

import inspect
import linecache
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map

from solbench.errors import CaptureError, InputError, SpecError
from solbench.spec import (
    Problem,
    SafetensorsInput,
    Workload,
    input_layout,
    load_entrypoint,
    make_inputs,
    reference_file,
)

_module_numbers = count()


@dataclass(frozen=True, slots=True)
class Call:
    """A program that is ready to run, with its inputs."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    inputs: Mapping[str, torch.Tensor]
    """Every tensor input by name, in order: arguments, then parameters and buffers by qualified name."""
    attributes: Mapping[str, torch.Tensor] = field(default_factory=dict)
    """Tensors that a module holds as plain attributes: inputs if they are used and were drawn."""


@dataclass(frozen=True, slots=True)
class Program:
    """A reference with one workload."""

    name: str
    """The definition's name, or the module's path as given."""
    workload: str
    """The workload's uuid; empty where there is only one."""
    source_file: str
    """File name of the lines that locations speak of, as in tracebacks."""
    load: Callable[[], Callable[[int], Call]]
    """Executes the source and returns a function that makes the call's inputs for a seed. Capture runs
    that function on fake tensors: it must not read their contents more than it has to."""
    output_names: tuple[str, ...] = ()
    """Declared names; without them outputs are numbered."""
    dict_outputs: bool = False
    """Further keys of a returned dict are ignored."""
    input_bytes: int | None = None
    """Size of all inputs; ``None`` if it is only known once they are made."""

    @property
    def origin(self) -> tuple[str, str]:
        """Names of the program and its workload, as a bound has them."""
        return self.name, self.workload


def problem_program(problem: Problem, workload: Workload) -> Program:
    """The reference of a problem on one workload; its inputs are the declared ones, by position."""

    def load() -> Callable[[int], Call]:
        # Executed here and not while inputs are made: module-level tensors must be real ones.
        load_entrypoint(problem)
        # A module of its own: what a reference caches between calls are fake tensors here.
        module = load_module(problem.definition.reference, reference_file(problem))
        run = getattr(module, "run", None)
        if not callable(run):
            raise CaptureError(f"the reference of {problem.name} defines no function 'run'")

        def make(seed: int) -> Call:
            made = _made_inputs(problem, workload, seed)
            tensors = {k: v for k, v in made.items() if isinstance(v, torch.Tensor)}
            return Call(run, tuple(made.values()), {}, tensors)

        return make

    return Program(
        name=problem.name,
        workload=workload.uuid,
        source_file=reference_file(problem),
        load=load,
        output_names=tuple(problem.definition.outputs),
        dict_outputs=True,
        input_bytes=_input_bytes(problem, workload),
    )


def _input_bytes(problem: Problem, workload: Workload) -> int | None:
    try:
        return sum(layout.nbytes for layout in input_layout(problem, workload))
    except SpecError:
        # Making the inputs will say so, as the failure of this workload only.
        return None


def _made_inputs(problem: Problem, workload: Workload, seed: int) -> dict[str, Any]:
    """As ``make_inputs``, but what is read from files is real also when the rest is fake."""
    stored = [name for name, how in workload.inputs.items() if isinstance(how, SafetensorsInput)]
    if not stored:
        return dict(make_inputs(problem, workload, seed))
    definition = problem.definition
    only_stored = definition.model_copy(
        update={"inputs": {name: definition.inputs[name] for name in stored}}
    )
    others = {name: how for name, how in workload.inputs.items() if name not in stored}
    drawn = make_inputs(problem, workload.model_copy(update={"inputs": others}), seed)
    with _disable_current_modes():
        read = make_inputs(replace(problem, definition=only_stored), workload, seed)
    return {**drawn, **read}


def function_program(
    function: Callable[..., Any],
    inputs: Sequence[Any] | Mapping[str, Any],
    *,
    name: str | None = None,
    workload: str = "",
) -> Program:
    """A plain function with example inputs, by position or by name.

    Tensors on the ``meta`` device stand for inputs of that shape and dtype; others are real, and the
    contents of integer and boolean ones are used. Nested lists, tuples and dicts of tensors are allowed.
    The function may be a module; its parameters and buffers are inputs too.
    """
    by_name = dict(_on_cpu(inputs)) if isinstance(inputs, Mapping) else {}
    by_position = () if isinstance(inputs, Mapping) else tuple(_on_cpu(list(inputs)))

    signature = function.forward if isinstance(function, torch.nn.Module) else function

    def make(seed: int) -> Call:
        args = tuple(_drawn(item) for item in by_position)
        kwargs = {key: _drawn(item) for key, item in by_name.items()}
        named = dict(zip(_parameter_names(signature, len(args)), args, strict=True)) | kwargs
        if isinstance(function, torch.nn.Module):
            return _module_call(function, args, kwargs, named_tensors(named))
        return Call(function, args, kwargs, named_tensors(named))

    inner = inspect.unwrap(
        type(function).forward if isinstance(function, torch.nn.Module) else function
    )
    code = getattr(inner, "__code__", None)
    return Program(
        name=name or str(getattr(inner, "__name__", type(inner).__name__)),
        workload=workload,
        source_file=code.co_filename if code is not None else "",
        load=lambda: make,
    )


def module_program(path: Path | str) -> Program:
    """A python file with ``Model``, ``get_inputs()`` and, if it needs arguments, ``get_init_inputs()``.

    The model is used as built, in training mode; its parameters need no gradient unless the source
    itself differentiates.
    """
    file = Path(path)
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=file) from error

    def load() -> Callable[[int], Call]:
        module = load_module(source, str(file))
        for needed in ("Model", "get_inputs"):
            if not hasattr(module, needed):
                raise CaptureError(f"{file}: defines no '{needed}'")
        return lambda seed: _model_call(module, source)

    return Program(name=str(path), workload="", source_file=str(file), load=load)


def _model_call(module: ModuleType, source: str) -> Call:
    given = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    args, kwargs = _init_arguments(given)
    model = module.Model(*args, **kwargs)
    made = module.get_inputs()
    by_name = dict(made) if isinstance(made, Mapping) else {}
    by_position = () if isinstance(made, Mapping) else tuple(made)
    _give_sizes(model, by_position, by_name)
    if not any(word in source for word in ("backward(", "autograd.grad", "torch.func")):
        model.requires_grad_(False)
    names = _parameter_names(model.forward, len(by_position))
    arguments = named_tensors(dict(zip(names, by_position, strict=True)) | by_name)
    return _module_call(model, by_position, by_name, arguments)


def _give_sizes(model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Lazy layers learn their sizes from a first call, which must not change what the second one gets."""
    if not _lazy_layers(model):
        return
    with torch.no_grad():
        model(*deepcopy(args), **deepcopy(dict(kwargs)))
    if unused := _lazy_layers(model):
        names = ", ".join(unused)
        raise CaptureError(
            f"the sizes of the lazy layers {names} are not known, since forward does not call them:"
            " give them sizes, or leave them out"
        )


def _lazy_layers(model: torch.nn.Module) -> list[str]:
    """Layers with parameters or buffers that have no size yet."""
    return [
        path or type(part).__name__
        for path, part in model.named_modules()
        if any(is_lazy(t) for t in (*part.parameters(recurse=False), *part.buffers(recurse=False)))
    ]


def _module_call(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    arguments: dict[str, torch.Tensor],
) -> Call:
    owned = dict(module.named_parameters()) | dict(module.named_buffers())
    plain = {
        f"{path}.{key}" if path else key: value
        for path, part in module.named_modules()
        for key, value in vars(part).items()
        if isinstance(value, torch.Tensor)
    }
    return Call(module, args, kwargs, arguments | owned, plain)


def _init_arguments(given: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Positional, by name, or the pair of both that some modules return."""
    if isinstance(given, Mapping):
        return (), given
    given = list(given)
    if len(given) == 2 and isinstance(given[0], list) and isinstance(given[1], dict):
        return given[0], given[1]
    return given, {}


def load_module(source: str, file: str) -> ModuleType:
    """Execute source as a fresh module whose tracebacks name ``file``."""
    module = ModuleType(f"solbench_program_{next(_module_numbers)}")
    module.__file__ = file
    # Dataclasses and pickle look a module up while it is executed.
    sys.modules[module.__name__] = module
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(source, file, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def named_tensors(values: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors of nested lists, tuples and dicts, by dotted name."""
    found: dict[str, torch.Tensor] = {}
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            found[name] = value
        elif isinstance(value, Mapping):
            found |= named_tensors({f"{name}.{key}": item for key, item in value.items()})
        elif isinstance(value, list | tuple):
            found |= named_tensors({f"{name}.{i}": item for i, item in enumerate(value)})
        elif isinstance(value, torch.nn.Module):
            owned = [*value.named_parameters(), *value.named_buffers()]
            found |= {f"{name}.{key}": tensor for key, tensor in owned}
    return found


def _parameter_names(function: Callable[..., Any], number: int) -> list[str]:
    """Names of the first positional parameters; ``input.N`` where there is no name."""
    try:
        parameters: Iterable[inspect.Parameter] = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    names = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return [names[i] if i < len(names) else f"input.{i}" for i in range(number)]


def _on_cpu(item: Any) -> Any:
    """Example inputs of another device: indices are copied, floats stand for their shape only."""

    def moved(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor) or tensor.device.type in ("cpu", "meta"):
            return tensor
        return tensor.to("meta" if tensor.dtype.is_floating_point else "cpu")

    return tree_map(moved, item)


def _drawn(item: Any) -> Any:
    """Meta tensors become drawn ones; everything else stays."""
    if isinstance(item, list | tuple):
        return type(item)(_drawn(part) for part in item)
    if isinstance(item, dict):
        return {key: _drawn(part) for key, part in item.items()}
    if not isinstance(item, torch.Tensor) or item.device.type != "meta":
        return item
    if item.dtype.is_floating_point:
        return torch.randn(item.shape).to(item.dtype).requires_grad_(item.requires_grad)
    return torch.zeros(item.shape, dtype=item.dtype)
