"""Replaces the `cython` module if Cython is not installed: annotations without effect.

The hot core (docs/architecture/packaging.md) is Python with annotations that Cython compiles. It
says `import cython`, the only form that the compiler recognises; `protocol/__init__.py` makes that
find this module. Interpreted, annotations have no effect: decorators return what they decorate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

compiled = False
longlong = ulonglong = int  # what values are cast to


def cclass(decorated: T) -> T:
    """The class or function, unchanged."""
    return decorated


cfunc = ccall = inline = no_gc = cclass


def boundscheck(_: bool) -> Callable[[T], T]:
    """A setting for the compiler: a decorator that changes nothing."""
    return cclass


wraparound = boundscheck


def cast(_: object, value: Any) -> Any:
    """The value, unchanged."""
    return value
