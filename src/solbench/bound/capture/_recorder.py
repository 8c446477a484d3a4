"""The dispatch mode that watches a program run on fake tensors and writes its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from solbench.bound._replay import mutated_arguments, tensors_in
from solbench.bound.capture._aliases import Alias
from solbench.bound.capture._builder import (
    CONSTANT,
    FROM_FLOATS,
    FROM_INDICES,
    FROM_SCALARS,
    INDEX_DTYPES,
    LARGEST_KNOWN_ELEMENTS,
    GraphBuilder,
)
from solbench.bound.capture._fakes import FakeCalls
from solbench.bound.capture._operators import Operator, describe, out_of_place
from solbench.bound.capture._shadow import Shadow
from solbench.bound.capture._source import Source
from solbench.bound.capture._special import higher_order, special
from solbench.bound.capture._views import single_view
from solbench.bound.graph import ABSENT, Node, Ref, refs_in
from solbench.errors import CaptureError, NeedsValues

_aten = torch.ops.aten
_CPU = torch.device("cpu")
_RUNG_OF_LEVEL = {FROM_INDICES: "values", FROM_SCALARS: "values", FROM_FLOATS: "real"}
_UNSUPPORTED = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
    NotImplementedError,
)


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records every ATen call below autograd; sits above a ``FakeTensorMode``."""

    supports_higher_order_operators = True

    def __init__(
        self,
        fake_mode: FakeTensorMode,
        source_file: str,
        *,
        allowed_level: int,
        limit_bytes: int,
        makes_inputs: bool = False,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.builder = GraphBuilder()
        self.shadow = Shadow(self.builder, self._leaf, limit_bytes)
        self.leaves: dict[int, Callable[[], torch.Tensor]] = {}
        """Contents of inputs and of constants."""
        self.scalars: dict[int, tuple[Any, int]] = {}
        """``id`` of a Python number got from a tensor → (the number, kept alive; value id)."""
        self.adopt: Callable[[torch.Tensor], None] = self._refuse
        """Registers a fake tensor that nothing recorded made."""
        self._inputs: dict[int, Alias] = {}
        self._fake_mode = fake_mode
        self.calls = FakeCalls(fake_mode)
        self._source = Source(source_file)
        self.allowed_level = allowed_level
        self._makes_inputs = makes_inputs
        self._fakes: dict[int, tuple[torch.Tensor, FakeTensor]] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.ops.prim.device.default:
            return _CPU
        with torch._C.DisableTorchFunction():
            return self._dispatch(func, args, kwargs or {})

    # -- what a tensor is --------------------------------------------------------------------

    def alias_of(self, tensor: torch.Tensor) -> Alias:
        """The alias of a tensor; one never seen is adopted as a constant or a hidden input."""
        fake = self.fake(tensor)
        alias = self.builder.alias_of(fake)
        if alias is None:
            self.adopt(fake)
            alias = self.builder.alias_of(fake)
            assert alias is not None
        return alias

    def value_of(self, tensor: torch.Tensor) -> int:
        """Id of the value that a tensor holds now."""
        return self.builder.read(self.alias_of(tensor), self.location())

    def contents_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """What a tensor holds, if this rung knows it."""
        value = self.value_of(tensor)
        self._require([value], "its contents")
        return self.shadow.contents(value)

    def fake(self, tensor: Any) -> Any:
        """The stand-in of a real tensor, which becomes a constant of the graph; the rest stays."""
        if not isinstance(tensor, torch.Tensor) or isinstance(tensor, FakeTensor):
            return tensor
        known = self._fakes.get(id(tensor))
        if known is not None:
            return known[1]
        fake = self._fake_mode.from_tensor(tensor, static_shapes=True)
        self._fakes[id(tensor)] = (tensor, fake)
        if self.builder.alias_of(fake) is None:
            with torch._C._DisableTorchDispatch():
                self.add_constant(fake, tensor.detach())
        return fake

    def add_constant(self, fake: torch.Tensor, contents: torch.Tensor) -> None:
        """Register a tensor whose contents the program holds itself."""
        value = self.builder.add_root(fake, CONSTANT).value
        self.leaves[value] = lambda: contents
        self.builder.graph.constants[value] = contents

    def add_input(
        self,
        tensor: torch.Tensor,
        fake: torch.Tensor,
        level: int,
        contents: Callable[[], torch.Tensor],
    ) -> int:
        """Register an input and its stand-in; one that was registered before keeps its value."""
        if tensor is not fake:
            self._fakes[id(tensor)] = (tensor, cast(FakeTensor, fake))
        alias = self.builder.exact_alias_of(fake)
        if alias is None:
            alias = self.builder.add_root(fake, level)
            self.leaves[alias.value] = contents
            self._inputs[alias.value] = alias
        return alias.value

    def latest(self, value: int) -> int:
        """The value that an input holds now."""
        return self.builder.read(self._inputs[value], "")

    def output_value(self, item: Any) -> int | None:
        """The value of a returned tensor or of a number got from one; ``None`` for anything else."""
        if isinstance(item, torch.Tensor):
            return self.value_of(item)
        number = self.scalars.get(id(item))
        if number is not None:
            return number[1]
        if not isinstance(item, float):
            return None
        # ``float(tensor)`` makes a new number of the one that was handed out
        return next((value for known, value in self.scalars.values() if known == item), None)

    def line_of(self, error: BaseException) -> str:
        """The innermost line of the program's source on the way to an error."""
        return self._source.line_of(error)

    def location(self) -> str:
        """The line of the program's own source that is running."""
        return self._source.running()

    def _refuse(self, tensor: torch.Tensor) -> None:
        raise CaptureError("uses a tensor of unknown origin", location=self.location())

    def _leaf(self, value: int) -> torch.Tensor:
        return self.leaves[value]()

    # -- one call ----------------------------------------------------------------------------

    def _dispatch(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        instead = special(func)
        if instead is not None:
            return instead(self, func, args, kwargs)
        if not isinstance(func, torch._ops.OpOverload):
            return higher_order(self, func, args, kwargs)
        device = kwargs.get("device")
        if isinstance(device, torch.device) and device.type == "meta":
            kwargs = {**kwargs, "device": _CPU}  # torch works out shapes of zero tangents there
        operator = describe(func)
        if operator.composite:
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return self.record(operator, args, kwargs)

    def record(self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run a call on fake tensors and write it down; returns what the program gets."""
        location = self.location()
        operands: list[Alias] = []
        bound = operator.bind(args, kwargs)
        arguments = {
            name: self.argument(argument, operands, location) for name, argument in bound.items()
        }
        if operator.asks_for_values:
            return self._ask(operator, arguments, location)
        if any(not isinstance(tensor, FakeTensor) for tensor in tensors_in(list(bound.values()))):
            args, kwargs = self.faked(args), {k: self.faked(v) for k, v in kwargs.items()}
            bound = operator.bind(args, kwargs)
        try:
            result = self.calls.call(operator, bound, args, kwargs)
        except _UNSUPPORTED:
            return self._ask(operator, arguments, location)
        if operator.changes_view:
            self._change_view(operator, bound["self"], arguments, operands[0], location)
        else:
            self.finish(operator, bound, arguments, operands, result, location)
        return result

    def argument(self, argument: Any, operands: list[Alias], location: str) -> Any:
        """An argument as the graph holds it; aliases of its tensors are appended to ``operands``."""
        if isinstance(argument, torch.Tensor):
            alias = self.alias_of(argument)
            operands.append(alias)
            return Ref(self.builder.read(alias, location))
        if isinstance(argument, tuple | list):
            return tuple(self.argument(item, operands, location) for item in argument)
        return None if isinstance(argument, torch.Generator) else argument

    def faked(self, argument: Any) -> Any:
        """As ``fake``, also within lists."""
        if isinstance(argument, torch.Tensor):
            return self.fake(argument)
        if isinstance(argument, tuple | list):
            return type(argument)(self.faked(item) for item in argument)
        return argument

    def finish(
        self,
        operator: Operator,
        bound: dict[str, Any],
        arguments: dict[str, Any],
        operands: list[Alias],
        result: Any,
        location: str,
    ) -> None:
        """Register results and new versions, and emit the node."""
        level = self._level(operator, arguments)
        written = self._written(operator, bound, level)
        results = _Results()
        for position, tensor in enumerate(tensors_in(result, keep_none=True)):
            if tensor is None:
                results.outputs.append(ABSENT)
            elif not any(alias is self.builder.exact_alias_of(tensor) for alias in written):
                self._add_result(results, operator, arguments, operands, tensor, position, level)
        if results.identical and not written and len(results.identical) == len(results.outputs):
            return
        outputs = [
            # A value has one producer: a piece that equals an older value gets an id of its own.
            self.builder.copy_of(output) if position in results.identical else output
            for position, output in enumerate(results.outputs)
        ]
        versions = [
            self.builder.new_version(alias, self._level_of(operator, alias.geometry[3], level))
            for alias in written
        ]
        self.builder.emit(operator.name, arguments, [*outputs, *versions], location)
        for alias, version in zip(written, versions, strict=True):
            self.builder.write(alias, version, location)

    def _add_result(
        self,
        results: _Results,
        operator: Operator,
        arguments: dict[str, Any],
        operands: list[Alias],
        tensor: torch.Tensor,
        position: int,
        level: int,
    ) -> None:
        parent = next((a for a in operands if self.builder.shares_memory(tensor, a)), None)
        if parent is None:
            if tensor.numel() > LARGEST_KNOWN_ELEMENTS and not operator.fills:
                level = FROM_FLOATS
            alias = self.builder.add_root(tensor, self._level_of(operator, tensor.dtype, level))
            results.outputs.append(alias.value)
            return
        known = self.builder.exact_alias_of(tensor)
        if known is not None and known.fresh:
            results.identical.add(len(results.outputs))
            results.outputs.append(known.value)
            return
        view = single_view(operator.name, arguments, tensor, parent, position)
        results.outputs.append(self.builder.add_view(tensor, parent, view).value)

    def _written(self, operator: Operator, bound: dict[str, Any], level: int) -> list[Alias]:
        """Aliases of the mutated arguments, in schema order, each once."""
        written: list[Alias] = []
        for name in mutated_arguments(operator.overload, bound):
            for tensor in tensors_in(bound[name]):
                alias = self.builder.exact_alias_of(tensor)
                if alias is None:  # ``out=`` was given another size
                    alias = self.builder.replace_root(tensor, level)
                written.append(alias)
        return written

    def _change_view(
        self,
        operator: Operator,
        tensor: torch.Tensor,
        arguments: dict[str, Any],
        parent: Alias,
        location: str,
    ) -> None:
        """``transpose_`` and its like: the tensor is now another view of the same memory."""
        known = self.builder.alias_of(tensor) if tensor.numel() else None
        if known is not None and known.fresh:
            return
        name = describe(out_of_place(operator)).name
        view = single_view(name, arguments, tensor, parent, 0)
        alias = self.builder.add_view(tensor, parent, view)
        self.builder.emit(name, arguments, (alias.value,), location)

    def _level(self, operator: Operator, arguments: dict[str, Any]) -> int:
        if operator.random:
            return FROM_FLOATS
        if operator.fills:
            return CONSTANT
        levels = self.builder.levels
        first = 1 if operator.overwrites else 0
        return max(
            (
                levels[ref]
                for argument in list(arguments.values())[first:]
                for ref in refs_in(argument)
            ),
            default=CONSTANT,
        )

    def _level_of(self, operator: Operator, dtype: torch.dtype, level: int) -> int:
        """Among the inputs, drawn integers and any mask are known, and so is what is made of them.

        Not other integers made of floats: those may be packed or quantised numbers.
        """
        drawn = operator.random and dtype in INDEX_DTYPES
        if self._makes_inputs and (drawn or dtype is torch.bool):
            return min(level, FROM_INDICES)
        return level

    # -- calls that need contents ------------------------------------------------------------

    def _require(self, values: Iterable[int], what: str) -> None:
        level = max((self.builder.levels[value] for value in values), default=CONSTANT)
        if level > self.allowed_level:
            raise NeedsValues(
                f"the shape or control flow depends on {what}",
                rung=_RUNG_OF_LEVEL[level],
                location=self.location(),
            )

    def _ask(self, operator: Operator, arguments: dict[str, Any], location: str) -> Any:
        """Compute a call for real, and hand its results on as fake tensors with known contents."""
        node = Node(operator.name, arguments, (), location)
        if mutated_arguments(operator.overload, arguments):
            raise CaptureError(f"no shape rule for {operator.name}", location=location)
        self._require(node.refs(), f"the result of {operator.name}")
        level = self._level(operator, arguments)
        results = self.shadow.run(node)
        outputs: list[int] = []
        sources = [self.builder.graph.values[ref].dtype for ref in node.refs()]
        dtype = sources[0] if sources else torch.float64
        handed_on = tree_map(lambda item: self._hand_on(item, level, dtype, outputs), results)
        self.builder.emit(operator.name, arguments, outputs, location)
        return handed_on

    def _hand_on(self, item: Any, level: int, dtype: torch.dtype, outputs: list[int]) -> Any:
        if isinstance(item, torch.Tensor):
            fake = torch.empty_strided(item.shape, item.stride(), dtype=item.dtype)
            value = self.builder.add_root(fake, level).value
            self.shadow.hold(value, item)
            outputs.append(value)
            return fake
        if isinstance(item, float):
            value = self.builder.new_number(level, dtype)
            self.scalars[id(item)] = (item, value)
            outputs.append(value)
        return item


@dataclass(slots=True)
class _Results:
    outputs: list[int] = field(default_factory=list)
    identical: set[int] = field(default_factory=set)
    """Positions of outputs that are values which existed before."""
