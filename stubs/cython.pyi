"""The part of Cython's module of annotations that the hot core uses, for mypy."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

compiled: bool

Py_ssize_t = int
bint = bool
double = float
int = int
long = int
uchar: Any
uint = int
ulonglong = int
p_const_uchar = bytes
p_long = list[int]
p_ulonglong: Any
p_uchar = bytearray
p_int: Any
pp_uchar = list[bytearray]
p_uint: Any

def cclass(decorated: T) -> T: ...
def cfunc(decorated: T) -> T: ...
def inline(decorated: T) -> T: ...
def no_gc(decorated: T) -> T: ...
def ccall(decorated: T) -> T: ...
def boundscheck(setting: bool) -> Callable[[T], T]: ...
def wraparound(setting: bool) -> Callable[[T], T]: ...
def cast(kind: Any, value: Any) -> Any: ...
def declare(kind: Any) -> Any: ...
