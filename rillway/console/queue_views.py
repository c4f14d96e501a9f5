"""The pages of queues as text, in the form of views.py."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rillway.console import formats
from rillway.console.formats import to_path
from rillway.console.views import BaseView, Row, Shown, header, short
from rillway.console.watch import Watch
from rillway.queues.finder import Known
from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import Job

SHOWN_ARGUMENTS = 300


def queue_path(db: int, known: Known) -> str:
    return f"/q/{db}/{known.queue.framework}/{to_path(known.queue.label)}"


def queue_row(db: int, known: Known) -> Row:
    return {
        "key": f"{known.queue.framework}/{to_path(known.queue.label)}",
        "href": queue_path(db, known),
        "state": "dead" if known.figures and known.figures.failed else "",
        "cells": {
            "name": short(known.queue.label),
            "framework": known.queue.framework,
            **queue_texts(known),
        },
    }


def queue_texts(known: Known) -> dict[str, str]:
    figures = known.figures
    if figures is None:
        names = ("waiting", "running", "delayed", "failed", "workers", "oldest", "in", "out")
        return dict.fromkeys(names, formats.UNKNOWN)
    return {
        "waiting": formats.count(figures.waiting),
        "running": formats.count(figures.running),
        "delayed": formats.count(figures.delayed),
        "failed": formats.count(figures.failed),
        "workers": formats.count(figures.workers),
        "oldest": formats.duration(figures.oldest_ms),
        "in": formats.rate(known.in_per_s),
        "out": formats.rate(known.out_per_s),
    }


def job_row(job: Job) -> Row:
    return {
        "key": job.id,
        "state": "dead" if job.error else "",
        "cells": {
            "id": job.id,
            "name": job.name,
            "arguments": arguments_text(job.arguments),
            "attempts": "" if job.attempts is None else str(job.attempts),
            "error": job.error,
            "time": "" if job.time_ms is None else formats.clock_time(job.time_ms),
        },
    }


def arguments_text(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return text[:SHOWN_ARGUMENTS] + "…" if len(text) > SHOWN_ARGUMENTS else text


@dataclass(frozen=True)
class Queues(BaseView):
    """All queues of the database."""

    def show(self, watch: Watch) -> Shown:
        watch.queues.touch()
        finder = watch.queues.finder
        note = finder.error or ("" if finder.has_passed else "Looking through the names of keys…")
        return {
            "texts": header(watch) | {"queues-note": note},
            "tables": {"queues": [queue_row(watch.db, one) for one in finder.queues]},
        }


@dataclass(frozen=True)
class QueueView(BaseView):
    """One queue: its figures; jobs are as they were when the page was opened."""

    framework: str = ""
    label: bytes = b""

    def show(self, watch: Watch) -> Shown:
        watch.queues.touch()
        known = watch.queues.finder.find(self.framework, self.label)
        texts = header(watch)
        if known is not None:
            texts |= queue_texts(known)
        return {"texts": texts, "tables": {}}


def unknown_notes(framework: str) -> list[str]:
    """Return why figures of a framework are missing."""
    return [f"{name}: {reason}" for name, reason in BY_NAME[framework].unknown.items()]
