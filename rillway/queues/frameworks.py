"""The frameworks that are recognised, in the order in which they are asked about a key."""

from __future__ import annotations

from rillway.queues.bullmq_queues import BullMq
from rillway.queues.celery_queues import Celery
from rillway.queues.queue import Framework
from rillway.queues.rq_queues import Rq
from rillway.queues.shown_queues import Arq, Dramatiq, FastStream, Huey, Saq, Taskiq

FASTSTREAM = FastStream()
FRAMEWORKS: tuple[Framework, ...] = (
    Celery(), Rq(), Arq(), Huey(), Saq(), Dramatiq(), Taskiq(), BullMq(),
)  # fmt: skip
BY_NAME: dict[str, Framework] = {one.name: one for one in (*FRAMEWORKS, FASTSTREAM)}
