"""Converts times in a Spark pattern, `dd.MM.yyyy HH:mm`, to ISO 8601, a column at a time.

Supports the letters for numbers and offsets: y M d H m s S, and X or x for a zone. Refuses names of
months and days, am and pm, weeks and optional parts, which Arrow cannot match column by column.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

RUN = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<other>[^A-Za-z'])")
TWO_DIGITS = {letter * 2: r"\d\d" for letter in "MdHms"}
ONE_OR_TWO = dict.fromkeys("MdHms", r"\d\d?")
ZONES = {"x": r"[+-]\d\d", "xx": r"[+-]\d{4}", "xxx": r"[+-]\d\d:\d\d"}
ZONES |= {letters.upper(): f"Z|{pattern}" for letters, pattern in ZONES.items()}
FORMS = {"yyyy": r"\d{4}", "y": r"\d{4}"} | TWO_DIGITS | ONE_OR_TWO | ZONES
FORMS |= {"S" * digits: rf"\d{{{digits}}}" for digits in range(1, 10)}
RESERVED = "[]{}#"
DEFAULTS = {"y": "1970", "M": "01", "d": "01", "H": "00", "m": "00", "s": "00", "S": "0", "X": ""}
EMPTY = pa.scalar("", pa.string())


class TimeFormat:
    """A pattern. Raises ValueError for one that is not supported."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._found: set[str] = set()
        runs = self._runs()
        self._regex = f"^{''.join(self._form(run) for run in runs)}$"
        # Literal texts, and letters.
        self._parts = [(_literal(run), run["letters"]) for run in runs]

    def _runs(self) -> list[re.Match[str]]:
        runs = list(RUN.finditer(self.pattern))
        if "".join(run[0] for run in runs) != self.pattern or not runs:
            raise ValueError(
                f"{self.pattern!r} has a quotation mark that is not closed, or nothing"
            )
        return runs

    def _form(self, run: re.Match[str]) -> str:
        letters = run["letters"]
        if letters is None:
            text = _literal(run)
            if run["quoted"] is None and text in RESERVED:
                raise ValueError(f"{text!r} has a meaning of its own in a pattern: quote it")
            return re.escape(text)
        name = letters[0].upper() if letters[0] in "xX" else letters[0]
        if letters not in FORMS or name in self._found:
            raise ValueError(
                f"{letters!r} cannot be read: there are yyyy, MM, dd, HH, mm, ss, S to SSSSSSSSS, "
                "X to XXX and x to xxx, each once"
            )
        self._found.add(name)
        return f"(?P<{name}>{FORMS[letters]})"

    def texts(self, moments: pa.Array) -> pa.Array:
        """Format UTC times in this pattern. Parts without a letter are dropped."""
        iso = moments.cast(pa.timestamp("us")).cast(pa.string())
        parts = [
            pa.scalar(text) if letters is None else _part(iso, letters)
            for text, letters in self._parts
        ]
        return pc.if_else(
            iso.is_valid(),
            pc.binary_join_element_wise(*parts, EMPTY),
            pa.scalar(None, pa.string()),
        )

    def iso(self, texts: pa.Array) -> pa.Array:
        """Return texts such as 2026-01-02T12:00:00.5+01:00; null for times in another form."""
        found = pc.extract_regex(texts, self._regex)
        parts = {
            name: found.field(name) if name in self._found else pa.scalar(default)
            for name, default in DEFAULTS.items()
        }
        for name in self._found & set("MdHms"):
            parts[name] = pc.utf8_lpad(parts[name], 2, "0")
        if "S" in self._found:  # Spark has microseconds
            parts["S"] = pc.utf8_slice_codeunits(parts["S"], 0, 6)
        if "X" in self._found:
            zone = pc.replace_substring_regex(parts["X"], r"^([+-]\d\d)$", r"\100")
            parts["X"] = pc.replace_substring_regex(zone, r"^([+-]\d\d)(\d\d)$", r"\1:\2")
        y, month, d, h, minute, s, fraction, zone = parts.values()
        return pc.if_else(
            found.is_valid(),
            pc.binary_join_element_wise(
                *(y, "-", month, "-", d, "T", h, ":", minute, ":", s, ".", fraction, zone, EMPTY)
            ),
            pa.scalar(None, pa.string()),
        )


def _literal(run: re.Match[str]) -> str:
    if run["letters"] is not None:
        return ""
    return "'" if run[0] == "''" else (run["quoted"] or run["other"]).replace("''", "'")


# The positions of numbers in 2026-01-02 12:00:00.000000.
PLACES = {"y": (0, 4), "M": (5, 7), "d": (8, 10), "H": (11, 13), "m": (14, 16), "s": (17, 19)}
UTC_TEXTS = {"x": "+00", "xx": "+0000", "xxx": "+00:00"}


def _part(iso: pa.Array, letters: str) -> pa.Array | pa.Scalar:
    letter = letters[0]
    if letter in "xX":
        return pa.scalar(UTC_TEXTS.get(letters, "Z"))
    if letter == "S":
        fraction = pc.utf8_slice_codeunits(iso, 20, 20 + min(len(letters), 6))
        return pc.utf8_rpad(fraction, len(letters), "0")
    digits = pc.utf8_slice_codeunits(iso, *PLACES[letter])
    return pc.replace_substring_regex(digits, "^0", "") if letters in ONE_OR_TWO else digits
