"""Reads a latency.hlog with the HdrHistogram library of another language: prints count, p50, p99 and
maximum of each tag, in nanoseconds, as JSON."""
import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

HOUR_NS = 3_600_000_000_000

tags = {}
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, HOUR_NS, 3))
while (interval := reader.get_next_interval_histogram()) is not None:
    tags.setdefault(interval.get_tag(), HdrHistogram(1, HOUR_NS, 3)).add(interval)
print(json.dumps({
    tag: {
        "count": h.get_total_count(),
        "p50": h.get_value_at_percentile(50),
        "p99": h.get_value_at_percentile(99),
        "max": h.get_max_value(),
    }
    for tag, h in tags.items()
}))
