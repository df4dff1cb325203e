"""The table of rows."""
from dataclasses import dataclass
from typing import Callable


@dataclass
class Row:
    title: str
    play: Callable


ROWS = []


def row(title, *reports):
    """Adds a row. `reports`: the public reports that it comes from, as REPOSITORY#NUMBER."""
    def add(play):
        ROWS.append(Row(f"{title} ({', '.join(reports)})" if reports else title, play))
        return play
    return add


def expect(condition, *shown):
    if not condition:
        raise AssertionError("\n        ".join(map(repr, shown)))
