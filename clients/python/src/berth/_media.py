"""Replies that carry a file."""

from __future__ import annotations

import base64
from pathlib import Path

from ._model import Model


class Media(Model):
    """A picture or a document within a reply."""

    def to_bytes(self) -> bytes:
        """The file itself. A tall picture comes in ``tiles``, each of which has its own."""
        data = self.get("data_base64")
        if data is None:
            raise ValueError("the picture is split: read tiles")
        return base64.b64decode(data)

    def save(self, path: str | Path) -> int:
        """Writes the file to a path and returns its size."""
        return Path(path).write_bytes(self.to_bytes())
