"""Processes of a demo end with the one that started them, however that ends."""

from __future__ import annotations

from multiprocessing import parent_process


def parent_is_gone() -> bool:
    parent = parent_process()
    return parent is not None and not parent.is_alive()
