"""Documentation of the commands of lists (commands/core/documentation.py)."""

from __future__ import annotations

from commands.core.documentation import Row

GROUP = "list"
SINCE = "1.0.0"

ROWS = {
    "BLMOVE": Row(
        "Moves an element from an end of a list to an end of another; waits for one.",
        "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
        since="6.2.0",
    ),
    "BLMOVEM": Row(
        "Moves several elements from an end of a list to an end of another; waits for them.",
        (
            "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout"
            " [<COUNT count | EXACTLY exactly> <OBO | BULK>]"
        ),
        complexity="O(N) with N the number of elements moved.",
        since="8.10.0",
    ),
    "BLMPOP": Row(
        "Removes and returns elements of one of several lists; waits for one.",
        "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        complexity="O(N+M) with N the number of keys and M the number of elements returned.",
        since="7.0.0",
    ),
    "BLPOP": Row(
        "Removes and returns the first element of one of several lists; waits for one.",
        "key [key ...] timeout",
        complexity="O(N) with N the number of keys.",
        since="2.0.0",
        history=[("6.0.0", "The timeout may have a fraction.")],
    ),
    "BRPOP": Row(
        "Removes and returns the last element of one of several lists; waits for one.",
        "key [key ...] timeout",
        complexity="O(N) with N the number of keys.",
        since="2.0.0",
        history=[("6.0.0", "The timeout may have a fraction.")],
    ),
    "BRPOPLPUSH": Row(
        "Moves the last element of a list to the start of another; waits for one.",
        "source destination timeout",
        since="2.2.0",
        history=[("6.0.0", "The timeout may have a fraction.")],
        deprecated=("6.2.0", "`BLMOVE` with the `RIGHT` and `LEFT` arguments"),
    ),
    "LINDEX": Row("Returns an element of a list by its index.", "key index"),
    "LINSERT": Row(
        "Inserts an element before or after another one of a list.",
        "key <BEFORE | AFTER> pivot element",
        complexity="O(N) with N the number of elements before the pivot.",
        since="2.2.0",
    ),
    "LLEN": Row("Returns the length of a list.", "key"),
    "LMOVE": Row(
        "Moves an element from an end of a list to an end of another.",
        "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
        since="6.2.0",
    ),
    "LMOVEM": Row(
        "Moves several elements from an end of a list to an end of another.",
        (
            "source destination <LEFT | RIGHT> <LEFT | RIGHT>"
            " [<COUNT count | EXACTLY exactly> <OBO | BULK>]"
        ),
        complexity="O(N) with N the number of elements moved.",
        since="8.10.0",
    ),
    "LMPOP": Row(
        "Removes and returns elements of the first of several lists that exists.",
        "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        complexity="O(N+M) with N the number of keys and M the number of elements returned.",
        since="7.0.0",
    ),
    "LPOP": Row(
        "Removes and returns the first elements of a list.",
        "key [count]",
        complexity="O(N) with N the number of elements.",
        history=[("6.2.0", "Added the argument `count`.")],
    ),
    "LPOS": Row(
        "Finds the indexes of an element in a list.",
        "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
        complexity="O(N) with N the number of elements compared.",
        since="6.0.6",
    ),
    "LPUSH": Row(
        "Puts elements before the first of a list, which is created if there is none.",
        "key element [element ...]",
        complexity="O(N) with N the number of elements.",
        history=[("2.4.0", "Accepts several elements.")],
    ),
    "LPUSHX": Row(
        "Puts elements before the first of a list, if there is one.",
        "key element [element ...]",
        complexity="O(N) with N the number of elements.",
        since="2.2.0",
        history=[("4.0.0", "Accepts several elements.")],
    ),
    "LRANGE": Row(
        "Returns a range of elements of a list.",
        "key start stop",
        complexity="O(N) with N the number of elements returned.",
    ),
    "LREM": Row(
        "Removes elements that are equal to a given one.",
        "key count element",
        complexity="O(N) with N the length of the list.",
    ),
    "LSET": Row("Replaces an element of a list by its index.", "key index element"),
    "LTRIM": Row(
        "Keeps a range of elements of a list, and removes the others.",
        "key start stop",
        complexity="O(N) with N the number of elements removed.",
    ),
    "RPOP": Row(
        "Removes and returns the last elements of a list.",
        "key [count]",
        complexity="O(N) with N the number of elements.",
        history=[("6.2.0", "Added the argument `count`.")],
    ),
    "RPOPLPUSH": Row(
        "Moves the last element of a list to the start of another.",
        "source destination",
        since="1.2.0",
        deprecated=("6.2.0", "`LMOVE` with the `RIGHT` and `LEFT` arguments"),
    ),
    "RPUSH": Row(
        "Puts elements after the last of a list, which is created if there is none.",
        "key element [element ...]",
        complexity="O(N) with N the number of elements.",
        history=[("2.4.0", "Accepts several elements.")],
    ),
    "RPUSHX": Row(
        "Puts elements after the last of a list, if there is one.",
        "key element [element ...]",
        complexity="O(N) with N the number of elements.",
        since="2.2.0",
        history=[("4.0.0", "Accepts several elements.")],
    ),
}
