"""Spans of what is added, and their contexts in the entries."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from redis.backoff import NoBackoff
from redis.retry import Retry

from rillway.client import PartitionedStream, Stream
from tests.support.programs.servers import RunningServer

ORDERS = PartitionedStream("orders", partitions=4)


class Recorded:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, sampled: bool = True) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler=ALWAYS_ON if sampled else ALWAYS_OFF)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        # A process can set its provider only once.
        monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())


@pytest.fixture
def client(rillway_server: RunningServer) -> Any:
    client = redis.Redis(port=rillway_server.port, decode_responses=True)
    client.flushall()
    return client


def fields(stream: Stream, key: str) -> list[dict[str, str]]:
    return [entry.fields for entry in stream.history(key)]


def traceparent(span: ReadableSpan) -> str:
    context = span.context
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def test_an_entry_carries_its_span(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(monkeypatch)
    stream = ORDERS.on(client, trace=True)
    entry_id = stream.add("anna", {"item": "lamp"})
    (span,) = recorded.spans
    assert (span.name, span.kind) == ("send orders", trace.SpanKind.PRODUCER)
    assert dict(span.attributes or {}) == {
        "messaging.system": "redis",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": "2",
        "messaging.message.id": entry_id,
        "server.address": "localhost",
        "server.port": client.connection_pool.connection_kwargs["port"],
    }
    assert fields(stream, "anna") == [{"item": "lamp", "traceparent": traceparent(span)}]


def test_a_context_that_the_user_gave_stays(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Recorded(monkeypatch)
    stream = ORDERS.on(client, trace=True)
    stream.add("anna", {"traceparent": "mine", "item": "lamp"})
    assert fields(stream, "anna") == [{"traceparent": "mine", "item": "lamp"}]


def test_a_context_that_is_not_sampled_is_left_out_unless_asked_for(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Recorded(monkeypatch, sampled=False)
    ORDERS.on(client, trace=True).add("anna", {"n": 1})
    stream = ORDERS.on(client, trace=True, inject_always=True)
    stream.add("anna", {"n": 2})
    without, with_context = fields(stream, "anna")
    assert without == {"n": "1"}
    assert not int(with_context["traceparent"][-2:], 16) & trace.TraceFlags.SAMPLED
    assert recorded.spans == []


@pytest.mark.parametrize("create_spans", [False, True])
def test_a_pipeline_is_one_span_and_each_entry_one_if_asked_for(
    client: Any, monkeypatch: pytest.MonkeyPatch, create_spans: bool
) -> None:
    recorded = Recorded(monkeypatch)
    stream = ORDERS.on(client, trace=True)
    stream.add_many([("anna", {"n": 1}), ("anna", {"n": 2})], create_spans=create_spans)
    *created, send = recorded.spans
    assert (send.name, send.kind) == ("send orders", trace.SpanKind.CLIENT)
    assert (send.attributes or {})["messaging.batch.message_count"] == 2
    written = [entry["traceparent"] for entry in fields(stream, "anna")]
    if create_spans:
        assert [span.name for span in created] == ["create orders"] * 2
        assert [span.kind for span in created] == [trace.SpanKind.PRODUCER] * 2
        assert written == [traceparent(span) for span in created]
    else:
        assert (created, written) == ([], [traceparent(send)] * 2)


def test_an_error_is_the_span_s_error(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(monkeypatch)
    client.set(ORDERS.stream(ORDERS.partition("anna")), "taken")
    with pytest.raises(redis.ResponseError):
        ORDERS.on(client, trace=True).add("anna", {"n": 1})
    (span,) = recorded.spans
    assert span.status.status_code == trace.StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "ResponseError"


def test_a_lost_connection_is_the_span_s_error(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(monkeypatch)
    once = Retry(NoBackoff(), 0)
    with redis.Redis(port=1, retry=once) as nowhere, pytest.raises(redis.ConnectionError):
        ORDERS.on(nowhere, trace=True).add("anna", {"n": 1})
    (span,) = recorded.spans
    assert (span.attributes or {})["error.type"] == "ConnectionError"
