"""Differences that README's limits admit: what is not kept of a row group that is encoded again, and readers' faults."""

import re


class Limit(str):
    """A difference that is known, by its reason."""


# A column of the table and what it says there, as regular expressions; and why it is no failure.
LIMITS = [
    ("footer", r"page statistics: True became False", "headers of pages of nulls and of INT96 lose their statistics"),
    ("footer", r"size statistics are lost", "chunks of nulls, of INT96 or without statistics lose their size statistics"),
    ("pandas", r": order \[.*\] became \[", "a dictionary that is encoded again has the order of first appearance"),
    ("fastparquet", r"an integer is required", "fastparquet cannot read an empty dictionary page"),
    ("fastparquet", r"^(c|text): row|out of bounds value in 'indices'", "fastparquet takes all dictionaries for the first"),
]


def judged(column, messages):
    """None, a `Limit`, or what differs beyond the limits."""
    beyond, reasons = [], []
    for message in messages:
        known = [why for where, what, why in LIMITS if where == column and re.search(what, message)]
        reasons += known
        if not known:
            beyond.append(message)
    if beyond:
        return "; ".join(beyond[:3])
    return Limit(reasons[0]) if reasons else None
