"""Scripts by their SHA1: which are kept, and which are evicted."""

from __future__ import annotations

from commands.scripting.crossing import Compiled
from commands.scripting.script_cache import EVALUATED_LIMIT, ScriptCache
from server.inprocess.server import InProcessClient


def new_cache() -> ScriptCache:
    return ScriptCache(lambda source: Compiled(source, 0, False))


def test_a_script_is_found_by_its_sha1_in_any_case() -> None:
    cache = new_cache()
    script = cache.take(b"return 1", is_loaded=True)
    assert script.sha == b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
    assert cache.find(script.sha.upper()) is script
    assert script.sha.upper() in cache
    assert cache.find(b"0" * 40) is None


def test_of_scripts_loaded_by_eval_the_least_recently_used_are_evicted_first() -> None:
    cache = new_cache()
    first = cache.take(b"0", is_loaded=False)
    second = cache.take(b"1", is_loaded=False)
    loaded = cache.take(b"loaded", is_loaded=True)
    for number in range(2, EVALUATED_LIMIT):
        cache.take(b"%d" % number, is_loaded=False)
    cache.find(first.sha)
    cache.take(b"one more", is_loaded=False)
    assert first.sha in cache and loaded.sha in cache
    assert second.sha not in cache
    assert cache.evicted == 1
    assert len(cache) == EVALUATED_LIMIT + 1


def test_scripts_of_script_load_are_never_evicted() -> None:
    cache = new_cache()
    script = cache.take(b"x", is_loaded=False)
    cache.take(b"x", is_loaded=True)
    for number in range(EVALUATED_LIMIT + 1):
        cache.take(b"%d" % number, is_loaded=False)
    assert script.sha in cache


def test_a_cleared_cache_is_empty() -> None:
    cache = new_cache()
    cache.take(b"abc", is_loaded=False)
    assert cache.body_bytes == 3
    cache.clear()
    assert (len(cache), cache.body_bytes) == (0, 0)


def test_info_counts_evicted_scripts(client: InProcessClient) -> None:
    for number in range(EVALUATED_LIMIT + 3):
        client.execute("EVAL", f"return {number}", 0)
    info = client.execute("INFO", "everything")
    assert b"evicted_scripts:3\r\n" in info
    assert b"number_of_cached_scripts:%d\r\n" % EVALUATED_LIMIT in info
