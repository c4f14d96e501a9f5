"""The libraries of functions of one instance.

Loading a library runs its source in the interpreter for functions, for at most half a second; what
comes from a primary or a file has no time limit. A library is loaded completely or not at all. One
that is replaced stays until the new one is ready.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from commands.scripting.interpreter import (
    CompileError,
    Failure,
    Interpreter,
    Registered,
)
from commands.scripting.shebang import check_name, parse_library
from protocol.errors import ReplyError

if TYPE_CHECKING:
    from commands.scripting.scripting import Scripting

LOAD_TIMEOUT_US = 500_000


@dataclass(slots=True, eq=False)
class Library:
    """A library of functions."""

    name: bytes
    code: bytes  # as it was loaded, with its first line
    functions: dict[bytes, Registered] = field(default_factory=dict)


class Libraries:
    """All libraries, by name, and their functions."""

    def __init__(self, scripting: Scripting) -> None:
        self.by_name: dict[bytes, Library] = {}
        self.functions: dict[bytes, Registered] = {}
        self._scripting = scripting
        self._interpreter: Interpreter | None = None
        self._loading: Library | None = None
        self._deadline_us = 0  # 0: none

    @property
    def interpreter(self) -> Interpreter:
        """The interpreter for functions, created on first use."""
        if self._interpreter is None:
            self._interpreter = Interpreter(self._scripting.calls, is_for_scripts=False)
        return self._interpreter

    @property
    def memory_bytes(self) -> int:
        """The memory that the interpreter uses."""
        return 0 if self._interpreter is None else self._interpreter.memory_bytes

    @property
    def code_bytes(self) -> int:
        """The sources of all libraries."""
        return sum(len(library.code) for library in self.by_name.values())

    # -- changing ------------------------------------------------------------------------------

    def load(self, code: bytes, *, replaces: bool, is_timed: bool) -> Library:
        """Load a library. Raises ReplyError, and then nothing has changed."""
        library = self.prepare(code, is_timed=is_timed, replaced=self.by_name if replaces else ())
        self.put([library])
        return library

    def prepare(self, code: bytes, *, is_timed: bool, replaced: Iterable[bytes]) -> Library:
        """Compile and run a library without installing it yet. Raises ReplyError.

        `replaced`: the names of existing libraries that it may replace.
        """
        parsed = parse_library(code)
        if parsed.engine.upper() != b"LUA":
            raise ReplyError(b"ERR Engine '%b' not found" % parsed.engine)
        if parsed.name in self.by_name and parsed.name not in replaced:
            raise ReplyError(b"ERR Library '%b' already exists" % parsed.name)
        library = Library(parsed.name, code)
        for registered in self._run(library, parsed.source, is_timed):
            library.functions[registered.name] = registered
        if not library.functions:
            raise ReplyError(b"ERR No functions registered")
        old = self.by_name.get(parsed.name)
        for name in library.functions:
            if name in self.functions and (old is None or name not in old.functions):
                raise ReplyError(b"ERR Function %b already exists" % name)
        return library

    def _run(self, library: Library, source: bytes, is_timed: bool) -> list[Registered]:
        try:
            function = self.interpreter.compile(source, b"@user_function")
        except CompileError as error:
            raise ReplyError(b"ERR Error compiling function: %b" % error.args[0]) from None
        now_us = self._scripting.instance.host.clock_us()
        self._loading, self._deadline_us = library, now_us + LOAD_TIMEOUT_US if is_timed else 0
        try:
            result = self.interpreter.load_library(function)
        finally:
            self._loading = None
        if isinstance(result, Failure):
            raise ReplyError(b"ERR Error registering functions: %b" % result.text)
        return result

    def refuse_function(self, name: bytes) -> bytes | None:
        """Why the library that is being loaded cannot have a function of that name."""
        assert self._loading is not None
        try:
            check_name(name)
        except ReplyError as error:
            return error.text
        if name in self._loading.functions:
            return b"ERR Function already exists in the library"
        self._loading.functions[name] = Registered(name, None, None, frozenset())
        return None

    def loads_too_long(self, now_us: int) -> bool:
        """Whether the library that is being loaded must end."""
        is_timed = self._loading is not None and self._deadline_us > 0
        return is_timed and now_us >= self._deadline_us

    def put(self, libraries: Iterable[Library]) -> None:
        """Install libraries; they replace those with the same names."""
        for library in libraries:
            self.by_name.pop(library.name, None)
            self.by_name[library.name] = library
        self._index()

    def delete(self, name: bytes) -> None:
        """Raises ReplyError if no library has that name."""
        if self.by_name.pop(name, None) is None:
            raise ReplyError(b"ERR Library not found")
        self._index()

    def clear(self) -> None:
        """Remove all libraries, and the interpreter with them."""
        self.by_name.clear()
        self.functions.clear()
        self._interpreter = None

    def _index(self) -> None:
        self.functions = {
            name: registered
            for library in self.by_name.values()
            for name, registered in library.functions.items()
        }
