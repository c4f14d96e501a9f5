"""Sum up a stream of orders with Spark, item by item: `python spark_totals.py [URL]`.

The totals go to the stream `totals`. It takes `pip install "rillway[pipeline]"` and Java 17; see
docs/reference/spark.md.
"""

import sys

from rillway.pipeline import spark_session


def main(url: str = "redis://127.0.0.1:6379") -> None:
    spark = spark_session()
    orders = (
        spark.read.format("redis-streams")
        .schema("item STRING, price DECIMAL(8,2)")
        .option("schemaMode", "columns")
        .option("url", url)
        .load("orders")
    )
    totals = orders.groupBy("item").agg({"price": "sum", "*": "count"})
    totals = totals.toDF("item", "total", "orders").orderBy("item")
    totals.show()
    # A handful of totals: one task writes them.
    sink = totals.coalesce(1).write.format("redis-streams").option("url", url)
    sink.option("stream", "totals").mode("append").save()


if __name__ == "__main__":
    main(*sys.argv[1:])
