"""The libraries of functions of one instance.

Loading a library runs its source in the interpreter for functions (Scripting.load_library). A
library is loaded completely or not at all. One that is replaced stays until the new one is ready.

FCALL finds a function in any spelling, and no two libraries may have functions whose names differ
only by case. One library may; FCALL then finds the first of them, as in Redis 7.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TypeAlias

from commands.scripting.interpreter import (
    Compiled,
    CompileError,
    Failure,
    Interpreter,
    Registered,
)
from commands.scripting.source import check_name, parse_library
from protocol.errors import ReplyError
from protocol.records import entity

# Runs the compiled source of a library with this name; the last argument: not longer than a
# client's library may take.
Load: TypeAlias = "Callable[[bytes, Interpreter, Compiled, bool], list[Registered] | Failure]"


@entity
class Library:
    """A library of functions."""

    name: bytes
    code: bytes  # as it was loaded, with its first line
    functions: dict[bytes, Registered] = field(default_factory=dict)


class Libraries:
    """All libraries, by name, and their functions."""

    def __init__(self, new_interpreter: Callable[[], Interpreter], load: Load) -> None:
        self.by_name: dict[bytes, Library] = {}
        self.functions: dict[bytes, Registered] = {}  # by their names in lower case
        self._new_interpreter = new_interpreter
        self._load = load
        self._interpreter: Interpreter | None = None
        self._loading: Library | None = None

    @property
    def interpreter(self) -> Interpreter:
        """The interpreter for functions, created on first use."""
        if self._interpreter is None:
            self._interpreter = self._new_interpreter()
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
        self.put(library)
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
        self.refuse_collisions(library)
        return library

    def refuse_collisions(self, library: Library) -> None:
        """Raise ReplyError if another library than the one it replaces has one of its functions."""
        old = self.by_name.get(library.name)
        own = set() if old is None else {name.lower() for name in old.functions}
        for name in library.functions:
            lower = name.lower()
            if lower in self.functions and lower not in own:
                raise ReplyError(b"ERR Function %b already exists" % name)

    def find(self, name: bytes) -> Registered | None:
        """The function with that name, in any spelling."""
        return self.functions.get(name) or self.functions.get(name.lower())

    def _run(self, library: Library, source: bytes, is_timed: bool) -> list[Registered]:
        try:
            function = self.interpreter.compile(source, b"@user_function")
        except CompileError as error:
            raise ReplyError(b"ERR Error compiling function: %b" % error.args[0]) from None
        self._loading = library
        try:
            result = self._load(library.name, self.interpreter, function, is_timed)
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

    def put(self, library: Library) -> None:
        """Install a library; it replaces one with the same name."""
        self._remove(library.name)
        self.by_name[library.name] = library
        for name, registered in library.functions.items():
            self.functions.setdefault(name.lower(), registered)

    def _remove(self, name: bytes) -> bool:
        """Remove a library, if there is one of that name."""
        library = self.by_name.pop(name, None)
        if library is None:
            return False
        for function in library.functions:
            self.functions.pop(function.lower(), None)
        return True

    def delete(self, name: bytes) -> None:
        """Raises ReplyError if no library has that name."""
        if not self._remove(name):
            raise ReplyError(b"ERR Library not found")

    def clear(self) -> None:
        """Remove all libraries, and the interpreter with them."""
        self.by_name.clear()
        self.functions.clear()
        self._interpreter = None
