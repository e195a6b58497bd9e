"""The words of `lacli.wording`, under the name that the commands know them by."""

from lacli.wording import (
    BETWEEN,
    counted,
    counts_record,
    counts_table,
    cut_note,
    live_line,
    loading_line,
    reply_record,
    stats_line,
    stats_record,
)

__all__ = [
    "BETWEEN",
    "counted",
    "counts_record",
    "counts_table",
    "cut_note",
    "live_line",
    "loading_line",
    "reply_record",
    "stats_line",
    "stats_record",
]
