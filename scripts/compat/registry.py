"""The list of files to make."""

from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Case:
    """A file: how to make it, which column its text is in, and what a run should say if it has to refuse it."""

    name: str
    writer: str
    text: str
    make: Callable  # (path, texts)
    refused: str | None = None
    id_as_string: bool = True
    planted: bool = True
    notes: list = field(default_factory=list)


CASES: list[Case] = []


def case(name, make, text="text", **more):
    """Adds a file; its writer is the name's first word."""
    CASES.append(Case(name, name.split("-")[0], text, make, **more))
