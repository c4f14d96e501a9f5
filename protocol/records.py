"""Classes of named fields that cost next to nothing when their module is imported.

`dataclass` writes and compiles the methods of every class when it is defined: for the hundred
classes of the server, an eighth of the time to the first PONG. Here a class gets its slots at once;
its `__init__` is compiled, by `dataclass`, when the first object is made. All records share the
methods that compare and print. Such a class has no base class and is no base class. Threads may
make first objects at the same time: each compiles the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast, dataclass_transform

Class = TypeVar("Class")

_OWN_SLOTS = {"__dict__", "__weakref__"}


@dataclass_transform(field_specifiers=(field,))
def record(cls: type[Class]) -> type[Class]:
    """A dataclass with slots; objects are equal if their fields are, and have no hash."""
    return _made(cls, __eq__=_is_equal, __repr__=_shown, __hash__=None)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_record(cls: type[Class]) -> type[Class]:
    """A dataclass with slots and a hash; only the type checker prevents assignment to fields."""
    return _made(cls, __eq__=_is_equal, __repr__=_shown, __hash__=_hash)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def entity(cls: type[Class]) -> type[Class]:
    """A dataclass with slots; an object is equal to itself only."""
    return _made(cls)


def _made(cls: type[Class], **shared: object) -> type[Class]:
    names = tuple(cls.__annotations__)
    written = {name: each for name, each in vars(cls).items() if name not in _OWN_SLOTS}
    # A class with slots cannot have defaults as attributes of the class.
    body = {name: each for name, each in written.items() if name not in names}

    def init(self: object, *args: Any, **kwargs: Any) -> None:
        """The first object: compile what makes the others, and use it."""
        # `dataclass` takes defaults out of the class that it is given, so that is a copy.
        template: Any = dataclass(eq=False, repr=False)(type(cls.__name__, (), dict(written)))
        made.__dataclass_fields__ = template.__dataclass_fields__
        made.__init__ = template.__init__
        made.__init__(self, *args, **kwargs)

    made: Any = type(cls.__name__, (), shared | body | {"__slots__": names, "__init__": init})
    return cast(type[Class], made)


def _values(self: Any) -> tuple[object, ...]:
    return tuple(getattr(self, each.name) for each in fields(self))


def _is_equal(self: object, other: object) -> object:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: object) -> int:
    return hash(_values(self))


def _shown(self: Any) -> str:
    shown = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"
