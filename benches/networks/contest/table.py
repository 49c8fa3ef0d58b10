"""Tables as rows of words: for a terminal and for a markdown page."""

from dataclasses import dataclass


@dataclass
class Table:
    """The first column is words, the others are figures; the note is below them."""

    title: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""

    def text(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows)]

        def line(row: list[str]) -> str:
            first = row[0].ljust(widths[0])
            return "  ".join([first, *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))])

        note = [self.note] if self.note else []
        return "\n".join([self.title, *map(line, [self.head, *self.rows]), *note, ""])

    def markdown(self) -> str:
        def line(row: list[str]) -> str:
            return f"| {' | '.join(row)} |"

        under = line(["---", *["---:"] * (len(self.head) - 1)])
        lines = [f"## {self.title}", "", line(self.head), under, *map(line, self.rows), ""]
        if self.note:
            lines += [self.note, ""]
        return "\n".join(lines)
