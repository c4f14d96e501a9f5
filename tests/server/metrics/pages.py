"""Pages of metrics for tests, collected in this process and read by Prometheus's own parser."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from server.inprocess.server import InProcessServer
from server.metrics.collection import Collection

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def page_of(server: InProcessServer, scrapes: int = 1) -> str:
    """The page of a scrape now."""
    collection = Collection(server.instance, server.instance.now_ms, scrapes, 0.0)
    for _ in collection.steps():
        pass
    return b"".join(collection.page.pieces()).decode()


def parsed(page: str) -> Samples:
    """The samples by name and labels. Raises if one is there twice, or the text is invalid."""
    found: Samples = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


def samples_of(server: InProcessServer) -> Samples:
    return parsed(page_of(server))


def value(samples: Samples, name: str, **labels: str) -> float | None:
    """The value of a sample; None if there is none."""
    return samples.get((name, tuple(sorted(labels.items()))))


def labels_of(samples: Samples, name: str, label: str) -> list[str]:
    """The values that a label of a metric has, in the order of the page."""
    return [dict(labels)[label] for found, labels in samples if found == name]
