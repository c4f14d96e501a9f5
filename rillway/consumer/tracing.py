"""Spans and measurements of a consumer, by OpenTelemetry: one span for each entry that is handled.

A producer with tracing writes its span's context into the entry, in W3C's fields `traceparent` and
`tracestate`. The span of the first delivery is a child of that span, since entries are handled one
by one; the span of a later delivery, by any consumer, has a link to it instead.

Needs the extra `otel`, which is the API alone. The application brings the SDK and configures it;
without one nothing is recorded, and `context_variables` passes the producer's context on.

Source: the semantic conventions for messaging, OpenTelemetry 1.44 (in development).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rillway.consumer.entry import Entry

SCOPE = "rillway.consumer"
# Buckets of a duration in seconds, as in the conventions.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
NAMES = ("traceparent", "tracestate")

_propagator = TraceContextTextMapPropagator()


class Tracing:
    """The spans and measurements of one consumer."""

    def __init__(
        self, *, stream: str, group: str, server: dict[str, Any], partition: int | None = None
    ) -> None:
        """`server`: the arguments of redis-py's connection; host, port and path are used."""
        self._stream = stream
        self._attributes: dict[str, str | int] = {
            "messaging.system": "redis",
            "messaging.operation.name": "process",
            "messaging.destination.name": stream,
            "messaging.consumer.group.name": group,
            "server.address": server.get("path") or server.get("host") or "localhost",
        }
        if "path" not in server:
            self._attributes["server.port"] = int(server.get("port") or 6379)
        if partition is not None:
            self._attributes["messaging.destination.partition.id"] = str(partition)
        self._tracer = trace.get_tracer(SCOPE)
        meter = metrics.get_meter(SCOPE)
        self._consumed = meter.create_counter(
            "messaging.client.consumed.messages", "{message}", "Entries that were handled."
        )
        self._duration = meter.create_histogram(
            "messaging.process.duration",
            "s",
            "How long an entry was handled.",
            explicit_bucket_boundaries_advisory=BOUNDS,
        )

    @contextmanager
    def handling(self, entry: Entry) -> Iterator[None]:
        """Make the span of an entry, current in the block; an error in the block is recorded."""
        attributes = self._attributes | {
            "messaging.operation.type": "process",
            "messaging.message.id": entry.id,
            "rillway.deliveries": entry.deliveries,
        }
        context, links = _origin(entry)
        outcome = dict(self._attributes)
        start = perf_counter()
        try:
            with self._tracer.start_as_current_span(
                f"process {self._stream}",
                context=context,
                kind=trace.SpanKind.CONSUMER,
                attributes=attributes,
                links=links,
            ) as span:
                try:
                    yield
                except Exception as error:
                    outcome["error.type"] = type(error).__qualname__
                    span.set_attribute("error.type", type(error).__qualname__)
                    raise
        finally:
            self._consumed.add(1, outcome)
            self._duration.record(perf_counter() - start, outcome)


def _origin(entry: Entry) -> tuple[Context, list[trace.Link]]:
    """Return the parent context and the links of a span, one of which has the producer's span."""
    fields = {name.decode("ascii", "replace"): value for name, value in entry.pairs}
    carrier = {name: fields[name].decode("ascii", "replace") for name in NAMES if name in fields}
    producer = _propagator.extract(carrier, Context())
    if entry.deliveries == 1:
        return producer, []
    context = trace.get_current_span(producer).get_span_context()
    return Context(), [trace.Link(context)] if context.is_valid else []


def context_variables() -> dict[str, str]:
    """Return TRACEPARENT, and TRACESTATE if there is one, of the current span."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return {name.upper(): value for name, value in carrier.items()}
