"""Documentation of the commands of sets (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "set"
SINCE = "1.0.0"

_SMALLEST_FIRST = "O(N*M) with N the size of the smallest set and M the number of sets."
_SUMMED_SIZES = "O(N) with N the number of members of all sets together."

ROWS = {
    "SADD": Row(
        "Adds members to a set, which is created if there is none.",
        "key member [member ...]",
        complexity="O(N) with N the number of members given.",
        history=[("2.4.0", "Accepts several `member` arguments.")],
    ),
    "SCARD": Row("Counts the members of a set.", "key"),
    "SDIFF": Row(
        "Returns the members of a set that none of several others has.",
        "key [key ...]",
        complexity=_SUMMED_SIZES,
        tips=["nondeterministic_output_order"],
    ),
    "SDIFFCARD": Row(
        "Counts the members of a set that none of several others has.",
        "numkeys key [key ...] [LIMIT limit]",
        complexity=_SUMMED_SIZES,
        since="8.10.0",
    ),
    "SDIFFSTORE": Row(
        "Stores the members of a set that none of several others has.",
        "destination key [key ...]",
        complexity=_SUMMED_SIZES,
    ),
    "SINTER": Row(
        "Returns the members that all of several sets have.",
        "key [key ...]",
        complexity=_SMALLEST_FIRST,
        tips=["nondeterministic_output_order"],
    ),
    "SINTERCARD": Row(
        "Counts the members that all of several sets have.",
        "numkeys key [key ...] [LIMIT limit]",
        complexity=_SMALLEST_FIRST,
        since="7.0.0",
    ),
    "SINTERSTORE": Row(
        "Stores the members that all of several sets have.",
        "destination key [key ...]",
        complexity=_SMALLEST_FIRST,
    ),
    "SISMEMBER": Row("Tests whether a member is in a set.", "key member"),
    "SMEMBERS": Row(
        "Returns all members of a set.",
        "key",
        complexity="O(N) with N the number of members.",
        tips=["nondeterministic_output_order"],
    ),
    "SMISMEMBER": Row(
        "Tests whether each of several members is in a set.",
        "key member [member ...]",
        complexity="O(N) with N the number of members given.",
        since="6.2.0",
    ),
    "SMOVE": Row("Moves a member from one set to another.", "source destination member"),
    "SPOP": Row(
        "Removes members chosen at random and returns them.",
        "key [count]",
        complexity="O(N) with N the number of members returned.",
        history=[("3.2.0", "Added the `count` argument.")],
        tips=["nondeterministic_output"],
    ),
    "SRANDMEMBER": Row(
        "Returns members chosen at random.",
        "key [count]",
        complexity="O(N) with N the number of members returned.",
        history=[("2.6.0", "Added the `count` argument.")],
        tips=["nondeterministic_output"],
    ),
    "SREM": Row(
        "Removes members from a set; the key goes with the last of them.",
        "key member [member ...]",
        complexity="O(N) with N the number of members given.",
        history=[("2.4.0", "Accepts several `member` arguments.")],
    ),
    "SSCAN": Row(
        "Iterates over the members of a set, a few with each call.",
        "key cursor [MATCH pattern] [COUNT count]",
        complexity="O(1) for a call, O(N) for the whole walk, with N the number of members.",
        since="2.8.0",
        tips=["nondeterministic_output"],
    ),
    "SUNION": Row(
        "Returns the members that any of several sets has.",
        "key [key ...]",
        complexity=_SUMMED_SIZES,
        tips=["nondeterministic_output_order"],
    ),
    "SUNIONCARD": Row(
        "Counts the members that any of several sets has.",
        "numkeys key [key ...] [APPROX] [LIMIT limit]",
        complexity=_SUMMED_SIZES,
        since="8.10.0",
    ),
    "SUNIONSTORE": Row(
        "Stores the members that any of several sets has.",
        "destination key [key ...]",
        complexity=_SUMMED_SIZES,
    ),
}
