"""Features that Spark may lack: 4.0 has no streaming sink, 4.0 and 4.1 have no admission control.

With admission control Spark passes a source a limit and the start of a batch; without it a source
only reports where its streams end. Where a class is missing, `object` replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark

VERSION = pyspark.__version__

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    HAS_STREAM_SINK = HAS_ADMISSION_CONTROL = True
else:
    from pyspark.sql import datasource as classes

    try:
        from pyspark.sql.streaming import datasource as streaming_classes
    except ImportError:
        streaming_classes = None

    HAS_STREAM_SINK = hasattr(classes, "DataSourceStreamArrowWriter")
    HAS_ADMISSION_CONTROL = streaming_classes is not None

    DataSourceStreamArrowWriter = getattr(classes, "DataSourceStreamArrowWriter", object)
    ReadAllAvailable = getattr(streaming_classes, "ReadAllAvailable", object)
    ReadLimit = getattr(streaming_classes, "ReadLimit", object)
    ReadMaxBytes = getattr(streaming_classes, "ReadMaxBytes", object)
    ReadMaxRows = getattr(streaming_classes, "ReadMaxRows", object)
    SupportsTriggerAvailableNow = getattr(streaming_classes, "SupportsTriggerAvailableNow", object)

__all__ = [
    "HAS_ADMISSION_CONTROL",
    "HAS_STREAM_SINK",
    "VERSION",
    "DataSourceStreamArrowWriter",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxBytes",
    "ReadMaxRows",
    "SupportsTriggerAvailableNow",
]
