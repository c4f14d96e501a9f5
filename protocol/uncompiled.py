"""Replaces the `cython` module where the hot core is interpreted: annotations without effect.

The hot core (docs/architecture/packaging.md) is Python with annotations that Cython compiles. It
says `import cython`, the only form that the compiler recognises; `rillway/app/checkout.py` and
setup.py make that import this module. So Cython is needed to build only, and `cython` in a user's
process is the user's. Interpreted, annotations have no effect: decorators change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

compiled = False
long = ulonglong = int  # what values are cast to


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
