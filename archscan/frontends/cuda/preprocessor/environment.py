"""What every macro is before a file says anything: compiler, toolkit, command line, other compilers' names."""

from __future__ import annotations

from functools import cached_property

from archscan.frontends.cuda.preprocessor.macros import (
    UNDEFINED,
    Definition,
    MacroDefinitions,
    one_of,
    open_state,
    state_of,
    uniform,
)
from archscan.frontends.protocol import Context
from archscan.model.condition import Cond

ARCH_PREFIXES = ("__CUDA_ARCH", "__CUDA_HAS_ARCH")
_DEVICE = (b"__device__", b"_DEVICE", b"DEVICE_")
CUDA_VERSION = "CUDA_VERSION"  # nvcc itself does not define it; <cuda.h> does


def names_architecture(name: str) -> bool:
    """Whether the compiler defines that macro from the target: `__CUDA_ARCH__`, feature and family macros."""
    return name.startswith(ARCH_PREFIXES)


class Compiler:
    """Macros that are settled before the first line, as states over the universe."""

    def __init__(self, context: Context) -> None:
        self.universe = context.catalog.universe
        self.everything = self.universe.all
        self.undefined = uniform(UNDEFINED, self.everything)
        self._facts = context.catalog.macros
        self._states: dict[str, MacroDefinitions | None] = {}
        self._toolkit = self._facts.toolkit_values(context.settings.cuda)
        self.given: dict[str, MacroDefinitions] = {
            name: uniform(Definition(None, value or "1"), self.everything) for name, value in context.settings.defines
        }
        for name in context.settings.undefines:
            self.given[name] = self.undefined

    @cached_property
    def device_words(self) -> tuple[bytes, ...]:
        """The words before a function that make it one of the device."""
        return (*_DEVICE, *(name.encode() for name in self._facts.device_functions))

    def state(self, name: str) -> MacroDefinitions | None:
        """The state the compiler or the command line gives a macro; None if neither knows it."""
        if name not in self._states:
            self._states[name] = self._find(name)
        return self._states[name]

    def unknown(self, name: str) -> MacroDefinitions:
        """The state of a macro that a build may set, or a library that was not scanned."""
        return open_state(name, self.everything, self.is_architectural_elsewhere(name))

    def overrides(self, name: str) -> bool:
        """Whether a `#define` in the project cannot change it: compiler macros that carry the target."""
        return names_architecture(name) and name not in self.given

    def is_derived_elsewhere(self, name: str) -> bool:
        """Whether a known library, scanned or not, derives the macro from the architecture."""
        return self._facts.is_derived_elsewhere(name)

    def is_architectural_elsewhere(self, name: str) -> bool:
        """Whether it does so from the target, not only from the toolkit's release."""
        return self._facts.is_architectural_elsewhere(name)

    def cuda_version(self) -> MacroDefinitions:
        """`CUDA_VERSION` in a file that includes <cuda.h>."""
        return uniform(Definition(None, self._toolkit.get(CUDA_VERSION, "")), self.everything)

    def _find(self, name: str) -> MacroDefinitions | None:
        facts = self._facts
        if name in self.given and not (name in facts.values and names_architecture(name)):
            return self.given[name]
        if name in facts.unsettled:
            return one_of(name, facts.unsettled[name], self.everything)
        if name in facts.values:
            return self._per_target(facts.values[name])
        if name in facts.function_like:
            params, body = facts.function_like[name]
            mask = facts.defined_for.get(name, self.everything)
            return state_of({Definition(params, body): mask, UNDEFINED: self.everything & ~mask})
        if name in self._toolkit and name != CUDA_VERSION:
            return uniform(Definition(None, self._toolkit[name]), self.everything)
        if names_architecture(name) or facts.is_undefined(name):
            return self.undefined
        return None

    def _per_target(self, values: dict[str, int]) -> MacroDefinitions:
        parts: dict[Definition, Cond] = {Definition(None, value): mask for value, mask in values.items()}
        defined = 0
        for mask in values.values():
            defined |= mask
        parts[UNDEFINED] = self.everything & ~defined
        return state_of(parts)


class ContextKey:
    """A context as a cache key: by what changes macros, not by identity."""

    def __init__(self, context: Context) -> None:
        settings = context.settings
        self.context = context
        self.parts = (context.catalog.digest, id(context.catalog), settings.cuda, settings.defines, settings.undefines)

    def __hash__(self) -> int:
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ContextKey) and self.parts == other.parts
