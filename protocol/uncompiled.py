"""Stands in for Cython's module of annotations where Cython is not installed.

The hot core (docs/architecture/packaging.md) is Python with annotations that Cython compiles. Run
as it is, the annotations mean nothing: decorators return what they decorate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

compiled = False


def cclass(decorated: T) -> T:
    """A class, or a function, as it is."""
    return decorated


cfunc = ccall = cclass


def boundscheck(_: bool) -> Callable[[T], T]:
    """A setting for the compiler: a decorator that changes nothing."""
    return cclass


wraparound = boundscheck


def cast(_: object, value: Any) -> Any:
    """The value as it is."""
    return value
