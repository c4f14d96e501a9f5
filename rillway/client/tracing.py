"""OpenTelemetry spans of XADD requests, whose contexts are written into the entries.

An entry carries the context of its span in W3C's fields `traceparent` and, if there is one,
`tracestate`, after all others and in lower case. A field of that name given by the user stays. The
contexts of spans that are not sampled are left out, since no trace is recorded for them. The
consumer's span is the child of that span (rillway/consumer/tracing.py).

Needs the extra `otel`, which is the API alone; the application brings the SDK and configures it.

Source: the semantic conventions for messaging, OpenTelemetry 1.44 (in development).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

SCOPE = "rillway.client"

_propagator = TraceContextTextMapPropagator()


class Adding:
    """A span of one XADD, or of a pipeline of them."""

    def __init__(self, span: trace.Span, tracing: Tracing, *, create_spans: bool = False) -> None:
        self._span = span
        self._tracing = tracing
        self._create_spans = create_spans

    def fields(self, fields: Mapping[Any, Any]) -> dict[Any, Any]:
        """An entry's fields with the context of its span."""
        if not self._create_spans:
            return self._tracing.with_context(fields)
        with self._tracing.creating():
            return self._tracing.with_context(fields)

    def is_added(self, entry_id: Any) -> None:
        if entry_id is not None:
            text = entry_id.decode() if isinstance(entry_id, bytes) else entry_id
            self._span.set_attribute("messaging.message.id", text)

    def are_added(self, number: int) -> None:
        self._span.set_attribute("messaging.batch.message_count", number)


class Tracing:
    """The spans of one bound stream."""

    def __init__(self, stream: str, *, inject_always: bool) -> None:
        self._stream = stream
        self._inject_always = inject_always
        self._tracer = trace.get_tracer(SCOPE)
        self._attributes: dict[str, str | int] = {
            "messaging.system": "redis",
            "messaging.destination.name": stream,
        }

    @contextmanager
    def adding(self, client: Any, partition: int) -> Iterator[Adding]:
        """Make the span of one entry; an error in the block is recorded in it."""
        attributes = {"messaging.destination.partition.id": str(partition)}
        with self._span("send", trace.SpanKind.PRODUCER, client, attributes) as span:
            yield Adding(span, self)

    @contextmanager
    def adding_many(self, client: Any, *, create_spans: bool) -> Iterator[Adding]:
        """Make the span of a pipeline. `create_spans`: with a span for each entry within it."""
        with self._span("send", trace.SpanKind.CLIENT, client, {}) as span:
            yield Adding(span, self, create_spans=create_spans)

    @contextmanager
    def creating(self) -> Iterator[None]:
        with self._span("create", trace.SpanKind.PRODUCER, None, {}):
            yield

    @contextmanager
    def _span(
        self, name: str, kind: trace.SpanKind, client: Any, attributes: Mapping[str, str]
    ) -> Iterator[trace.Span]:
        operation = {"messaging.operation.name": name, "messaging.operation.type": name}
        with self._tracer.start_as_current_span(
            f"{name} {self._stream}",
            kind=kind,
            attributes={**self._attributes, **operation, **server_of(client), **attributes},
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", type(error).__qualname__)
                raise

    def with_context(self, fields: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the fields, followed by the context of the current span."""
        sampled = trace.get_current_span().get_span_context().trace_flags.sampled
        carrier: dict[str, str] = {}
        if fields and (sampled or self._inject_always):
            _propagator.inject(carrier)
        given = {name.decode() if isinstance(name, bytes) else name for name in fields}
        if "traceparent" in given:  # the user's context is complete: nothing is added to it
            return dict(fields)
        return {**fields, **{name: carrier[name] for name in carrier if name not in given}}


def server_of(client: Any) -> dict[str, str | int]:
    """server.address and server.port of a client for one server; a cluster has many."""
    pool = getattr(client, "connection_pool", None)
    if pool is None:
        return {}
    options = pool.connection_kwargs
    if "path" in options:
        return {"server.address": options["path"]}
    return {
        "server.address": options.get("host") or "localhost",
        "server.port": int(options.get("port") or 6379),
    }
