"""Stands in for Cython's module of annotations where nothing is compiled and Cython is not there.

The hot core (docs/architecture/packaging.md) is Python with annotations that Cython compiles. Run
as it is, the annotations mean nothing: decorators return what they decorate, and a type is `int`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

compiled = False

uchar = int
bint = bool
ulonglong = longlong = int
p_const_uchar = bytes


def _unchanged(decorated: T) -> T:
    return decorated


cfunc = ccall = inline = cclass = final = _unchanged


def _takes_setting(*_: object) -> Callable[[T], T]:
    return _unchanged


returns = wraparound = boundscheck = nonecheck = cdivision = exceptval = _takes_setting


def cast(_: object, value: Any) -> Any:
    """The value itself."""
    return value
