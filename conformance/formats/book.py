"""The stored examples and their indexes. An example that exists is never written again."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
BY_HAND = "by hand"


class Book:
    """The index of one format, and the folders of its examples."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.index = FOLDER / f"{name}.json"
        self.entries = json.loads(self.index.read_text()) if self.index.exists() else []

    def has(self, name: str) -> bool:
        """Returns whether an example has this name."""
        return any(entry["id"] == name for entry in self.entries)

    def folder(self, name: str) -> Path:
        """Returns the folder of the hierarchy of an example."""
        return FOLDER / self.name / name

    def add(
        self,
        name: str,
        rows: str,
        about: str,
        files: dict[str, object],
        elements: bytes | None = None,
        *,
        may_refuse: bool = False,
        is_usual: bool = False,
        array: str = "/",
        origin: str = BY_HAND,
    ) -> None:
        """Writes an example unless it exists. `files` are bytes, text, or JSON.

        Readers must refuse an example without `elements`. With `is_usual`, they are expected to follow common practice,
        which no specification requires.
        """
        if self.has(name):
            return
        for path, content in files.items():
            file = self.folder(name) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if not isinstance(content, bytes | str):
                content = json.dumps(content, ensure_ascii=False)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.note(
            name, rows, about, elements, may_refuse=may_refuse, is_usual=is_usual, array=array, origin=origin
        )

    def note(
        self,
        name: str,
        rows: str,
        about: str,
        elements: bytes | None,
        *,
        may_refuse: bool,
        is_usual: bool = False,
        array: str,
        origin: str,
    ) -> None:
        """Adds an example whose files exist to the index."""
        valid = "usual" if is_usual else "either" if may_refuse else "values"
        expect = "refused" if elements is None else valid
        entry = {"id": name, "rows": rows.split(), "about": about, "origin": origin, "array": array, "expect": expect}
        self.entries.append(entry if elements is None else {**entry, "elements": elements.hex()})

    def close(self) -> None:
        """Writes the index."""
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in self.entries)
        self.index.write_text(f"[\n{lines}\n]\n")
