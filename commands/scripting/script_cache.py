"""The scripts that EVALSHA finds, by the SHA1 of their text."""

from __future__ import annotations

from collections.abc import Callable

import cython

from commands.scripting.crossing import Compiled
from commands.scripting.shebang import Script as ParsedScript
from commands.scripting.shebang import parse_script

# The number of scripts that are kept after EVAL; the least recently used is evicted first.
EVALUATED_LIMIT = 500


@cython.cclass
class Script:
    """A cached script."""

    def __init__(
        self, sha: bytes, body: bytes, function: Compiled, parsed: ParsedScript, is_loaded: bool
    ) -> None:
        self.sha = sha
        self.body = body
        self.function = function
        self.flags = parsed.flags
        self.has_shebang = parsed.has_shebang
        self.is_loaded = is_loaded  # by SCRIPT LOAD: never evicted


@cython.cclass
class ScriptCache:
    """The cache of one instance. `compile` makes a function from source; raises ReplyError."""

    def __init__(self, compile: Callable[[bytes], Compiled]) -> None:
        self.evicted = 0
        self.body_bytes = 0
        self._compile = compile
        self._scripts: dict[bytes, Script] = {}
        # Those from EVAL, the least recently used first.
        self._evaluated: dict[bytes, Script] = {}

    def __len__(self) -> int:
        return len(self._scripts)

    def __contains__(self, sha: bytes) -> bool:
        return sha.lower() in self._scripts

    def find(self, sha: bytes) -> Script | None:
        """The script with that SHA1."""
        script = self._scripts.get(sha)
        if script is None:
            script = self._scripts.get(sha.lower())
        if script is not None and not script.is_loaded:
            self._note_use(script)
        return script

    def take(self, body: bytes, *, is_loaded: bool) -> Script:
        """The script with that text, compiled if it is new. Raises ReplyError."""
        import hashlib  # it loads OpenSSL: not at the start

        sha = hashlib.sha1(body).hexdigest().encode()
        script = self._scripts.get(sha)
        if script is None:
            return self._add(sha, body, is_loaded)
        if is_loaded and not script.is_loaded:
            script.is_loaded = True
            del self._evaluated[sha]
        self._note_use(script)
        return script

    def clear(self) -> None:
        """SCRIPT FLUSH."""
        self._scripts.clear()
        self._evaluated.clear()
        self.body_bytes = 0

    def _add(self, sha: bytes, body: bytes, is_loaded: bool) -> Script:
        parsed = parse_script(body)
        function = self._compile(parsed.source)
        script = Script(sha, body, function, parsed, is_loaded)
        self._scripts[sha] = script
        self.body_bytes += len(body)
        if not is_loaded:
            self._evaluated[sha] = script
            if len(self._evaluated) > EVALUATED_LIMIT:
                self._evict(next(iter(self._evaluated)))
        return script

    def _note_use(self, script: Script) -> None:
        if not script.is_loaded:
            del self._evaluated[script.sha]
            self._evaluated[script.sha] = script

    def _evict(self, sha: bytes) -> None:
        del self._evaluated[sha]
        self.body_bytes -= len(self._scripts.pop(sha).body)
        self.evicted += 1
