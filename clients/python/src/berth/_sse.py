"""Server-sent events, read from bytes as they come."""

from __future__ import annotations

from typing import Iterator, NamedTuple

from ._errors import BerthError

event_chars_max = 16 * 1024 * 1024
"""The service sends no larger event; whatever sends more is not the service, and would fill the memory."""


class ServerEvent(NamedTuple):
    """One event of a stream."""

    id: str | None
    type: str
    data: str


class EventReader:
    """Turns the bytes of a stream into events. Keeps the id of the last one, with which a stream is resumed."""

    def __init__(self, last_id: str | None = None) -> None:
        self.last_id = last_id
        self.retry_seconds: float | None = None
        self._rest: list[bytes] = []
        self._size = 0
        self._ends_with_return = False
        self._is_first = True
        self._type = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Takes in bytes and returns the events that they complete."""
        if self._ends_with_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        if not chunk:
            return
        self._ends_with_return = chunk.endswith(b"\r")
        first, *others = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._add(first)
        for part in others:
            line = b"".join(self._rest)
            self._rest.clear()
            event = self._line(line.decode("utf-8", "replace"))
            if event is not None:
                yield event
            self._add(part)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > event_chars_max:
            raise BerthError("An event of the stream is larger than any that the service sends.", code="unexpected_response")
        if part:
            self._rest.append(part)

    def _line(self, line: str) -> ServerEvent | None:
        if line == "":
            return self._dispatch()
        if self._is_first:
            line = line.removeprefix("\ufeff")
            self._is_first = False
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value.isdecimal() and len(value) < 10:
            self.retry_seconds = int(value) / 1000
        return None

    def _dispatch(self) -> ServerEvent | None:
        data, type_ = self._data, self._type
        self._data, self._type, self._size = [], "", 0
        return ServerEvent(self.last_id, type_ or "message", "\n".join(data)) if data else None
