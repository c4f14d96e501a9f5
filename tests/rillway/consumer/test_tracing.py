"""Spans and measurements of a consumer: parents, links, errors, over a crash and a dead letter."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rillway.consumer import Consumer, Entry
from rillway.consumer.tracing import Tracing, context_variables
from tests.rillway.consumer.scene import DEAD, GROUP, STREAM, Scene
from tests.rillway.consumer.test_consumer import Recorder, run_until

TRACE, PARENT = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
TRACEPARENT = f"00-{TRACE:032x}-{PARENT:016x}-01"
WITH_PARENT = ((b"item", b"lamp"), (b"traceparent", TRACEPARENT.encode()))


class Recorded:
    """What was exported: spans, and the points of metrics by their names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._spans = InMemorySpanExporter()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._reader = InMemoryMetricReader()
        meters = MeterProvider([self._reader])
        # A process can set its providers only once.
        monkeypatch.setattr(trace, "get_tracer", tracers.get_tracer)
        monkeypatch.setattr(metrics, "get_meter", meters.get_meter)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._spans.get_finished_spans())

    def points(self) -> dict[str, list[Any]]:
        data: Any = self._reader.get_metrics_data()
        scope = data.resource_metrics[0].scope_metrics[0]
        return {metric.name: list(metric.data.data_points) for metric in scope.metrics}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    return Recorded(monkeypatch)


def tracing(**server: object) -> Tracing:
    return Tracing(stream="orders", group="billing", server=server)


def test_the_span_of_a_first_delivery_is_a_child_of_the_producers(recorded: Recorded) -> None:
    with tracing(host="10.0.0.7", port=6400).handling(Entry("5-1", WITH_PARENT)):
        variables = context_variables()
    (span,) = recorded.spans
    assert (span.name, span.kind) == ("process orders", trace.SpanKind.CONSUMER)
    assert span.parent is not None
    assert (span.parent.trace_id, span.parent.span_id, span.links) == (TRACE, PARENT, ())
    assert dict(span.attributes or {}) == {
        "messaging.system": "redis",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "orders",
        "messaging.consumer.group.name": "billing",
        "messaging.message.id": "5-1",
        "server.address": "10.0.0.7",
        "server.port": 6400,
        "rillway.deliveries": 1,
    }
    assert variables == {"TRACEPARENT": f"00-{TRACE:032x}-{span.context.span_id:016x}-01"}


def test_the_span_of_a_later_delivery_has_a_link_instead(recorded: Recorded) -> None:
    with tracing().handling(Entry("5-1", WITH_PARENT, deliveries=3)):
        pass
    (span,) = recorded.spans
    assert span.parent is None
    assert [(link.context.trace_id, link.context.span_id) for link in span.links] == [
        (TRACE, PARENT)
    ]


@pytest.mark.parametrize(
    "value", [b"", b"00-0-0-01", b"\xff\xfe", b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01"]
)
@pytest.mark.parametrize("deliveries", [1, 2])
def test_a_field_that_is_no_context_begins_a_trace(
    recorded: Recorded, value: bytes, deliveries: int
) -> None:
    with tracing().handling(Entry("5-1", ((b"traceparent", value), (b"\xff", b"")), deliveries)):
        pass
    (span,) = recorded.spans
    assert (span.parent, span.links) == (None, ())


def test_an_entry_without_a_context_does_not_join_what_runs_around_it(recorded: Recorded) -> None:
    with (
        trace.get_tracer("application").start_as_current_span("outer"),
        tracing().handling(Entry("5-1", ((b"item", b"lamp"),))),
    ):
        pass
    assert recorded.spans[0].parent is None


def test_a_handler_that_fails_is_an_error_of_span_and_measurements(recorded: Recorded) -> None:
    told = tracing(path="/run/rillway.sock")
    with pytest.raises(KeyError), told.handling(Entry("5-1", WITH_PARENT)):
        raise KeyError("gone")
    with told.handling(Entry("5-2", WITH_PARENT)):
        pass
    failed, done = recorded.spans
    attributes = failed.attributes or {}
    assert (failed.status.status_code, attributes["error.type"]) == (
        trace.StatusCode.ERROR,
        "KeyError",
    )
    assert attributes["server.address"] == "/run/rillway.sock"
    assert "server.port" not in attributes
    assert done.status.status_code == trace.StatusCode.UNSET
    points = recorded.points()
    assert [point.value for point in points["messaging.client.consumed.messages"]] == [1, 1]
    errors = [point.attributes.get("error.type") for point in points["messaging.process.duration"]]
    assert errors == ["KeyError", None]
    assert points["messaging.process.duration"][0].explicit_bounds[0] == 0.005


@pytest.mark.integration
async def test_one_trace_goes_over_a_crash_a_dead_letter_and_back(
    scene: Scene, recorded: Recorded
) -> None:
    scene.create_group()
    scene.client.xadd(STREAM, {"n": "1", "traceparent": TRACEPARENT})
    scene.deliver("crashed", 1)
    scene.age("crashed", 60_000)
    settings: dict[str, Any] = {"claim_idle_ms": 1000, "max_deliveries": 3, "trace": True}
    consumer = Consumer(
        scene.url, stream=STREAM, group=GROUP, name="c", dead_letters=DEAD, **settings
    )
    handle = Recorder()
    handle.then = failing
    await run_until(consumer, handle, lambda: bool(scene.client.xlen(DEAD)))
    ((_, fields),) = scene.client.xrange(DEAD)
    assert fields[b"traceparent"].decode() == TRACEPARENT
    back = Consumer(scene.url, stream=DEAD, group=GROUP, name="c", trace=True)
    await run_until(back, Recorder(), lambda: back.counts.acknowledged == 1)
    *claimed, redriven = recorded.spans
    assert claimed
    for span in claimed:
        assert [link.context.trace_id for link in span.links] == [TRACE]
    assert redriven.parent is not None
    assert redriven.parent.trace_id == TRACE
    assert (redriven.attributes or {})["messaging.destination.name"] == DEAD


def failing(entry: Entry) -> Any:
    raise RuntimeError("no stock")


def test_what_one_handler_does_is_within_the_span(recorded: Recorded) -> None:
    async def handle(told: Tracing, number: int) -> int:
        with told.handling(Entry(f"{number}-0", ())):
            await asyncio.sleep(0)
            return trace.get_current_span().get_span_context().span_id

    async def both() -> list[int]:
        told = tracing()
        return list(await asyncio.gather(handle(told, 1), handle(told, 2)))

    inside = asyncio.run(both())
    assert inside == [span.context.span_id for span in recorded.spans]
