"""Sends requests, again where that may help, and reads what comes back."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, AsyncIterator, Generator, Generic, Iterator, Mapping, TypeVar
from weakref import WeakSet

import httpx

from .._core import (
    ClientOptions,
    FileInput,
    Operation,
    Read,
    Request,
    RequestOptions,
    Response,
    backoff,
    open_upload,
    read_any,
    read_error,
    read_json,
    retry_delay,
    seen_responses,
    to_error,
    transport_errors,
)
from .._errors import BerthError
from .._model import Model, ModelType, read_list
from .._sse import EventReader
from .._time import async_sleep

ItemType = TypeVar("ItemType")


class AsyncTransport:
    """The connection of a client to its service."""

    def __init__(self, options: ClientOptions, http_client: httpx.AsyncClient | None) -> None:
        self.options = options
        self._owns_client = http_client is None
        self._client = http_client or httpx.AsyncClient()
        self._streams: WeakSet[httpx.Response] = WeakSet()

    async def close(self) -> None:
        """Closes the connections, those of a client of the caller's own as far as a stream was left open."""
        for stream in list(self._streams):
            await stream.aclose()
        if self._owns_client:
            await self._client.aclose()

    async def call(
        self,
        operation: Operation,
        path_values: Mapping[str, str],
        values: Mapping[str, Any],
        options: RequestOptions | None,
    ) -> Response:
        """Sends the request of an operation and reads its whole response."""
        return await self.send(self.options.request(operation, path_values, values, options), operation.form)

    async def send(self, request: Request, form: str) -> Response:
        """Sends a request and reads its whole response."""
        response = await self._open(request, is_streamed=False)
        data: Any = None
        if form == "text":
            data = response.text
        elif form == "json" and response.content:
            data = read_json(response)
        elif form == "any":
            data = read_any(response)
        answer = Response(response.status_code, response.headers, data)
        seen = seen_responses.get()
        if seen is not None:
            seen.append(answer)
        return answer

    async def upload(
        self,
        operation: Operation,
        path_values: Mapping[str, str],
        file: FileInput,
        name: str | None,
        options: RequestOptions | None,
    ) -> Response:
        """Sends a file as it is read."""
        upload = open_upload(file, name)
        try:
            return await self.send(self.options.request(operation, path_values, {}, options, upload), operation.form)
        finally:
            upload.close()

    async def stream(self, request: Request) -> httpx.Response:
        """Sends a request and returns its response, of which only the head has been read."""
        response = await self._open(request, is_streamed=True)
        self._streams.add(response)
        seen = seen_responses.get()
        if seen is not None:
            seen.append(Response(response.status_code, response.headers, None))
        return response

    async def _open(self, request: Request, is_streamed: bool) -> httpx.Response:
        while True:
            request.attempts += 1
            answer: str | None = None
            try:
                response = await self._attempt(request)
                if response.is_success:
                    if not is_streamed:
                        await _read(response)
                    return response
                await _read(response)
                error = read_error(response.status_code, response.headers, response.content)
                answer = response.headers.get("x-should-retry")
            except transport_errors as failure:
                error = to_error(failure)
                error.__cause__ = failure
            delay = retry_delay(request, error, answer)
            if delay is None:
                raise error
            await async_sleep(delay)

    async def _attempt(self, request: Request) -> httpx.Response:
        files = None
        if request.upload is not None:
            if request.upload.start is not None:
                request.upload.content.seek(request.upload.start)
            files = {"file": (request.upload.name, request.upload.content, "application/octet-stream")}
        built = self._client.build_request(
            request.method, request.url, headers=request.headers, content=request.content, files=files, timeout=request.timeout
        )
        # A redirect would take the key to where it leads.
        return await self._client.send(built, stream=True, follow_redirects=False)


async def _read(response: httpx.Response) -> None:
    try:
        await response.aread()
    finally:
        await response.aclose()


class AsyncResource:
    """A group of calls."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport


class AsyncSessionResource(AsyncResource):
    """A group of calls to one session."""

    def __init__(self, transport: AsyncTransport, session_id: str) -> None:
        super().__init__(transport)
        self._session_id = session_id


class Page(Generic[ItemType]):
    """One page of a list."""

    def __init__(self, items: list[ItemType], next_cursor: str | None) -> None:
        self.items = items
        self.next_cursor = next_cursor

    def __iter__(self) -> Iterator[ItemType]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def has_more(self) -> bool:
        """Whether another page follows."""
        return self.next_cursor is not None


class AsyncPages(Generic[ItemType]):
    """A list that comes in pages, each of which is requested when the one before has been used up."""

    def __init__(
        self, transport: AsyncTransport, operation: Operation, path_values: Mapping[str, str], values: Mapping[str, Any], read: Read,
        options: RequestOptions | None,
    ) -> None:  # fmt: skip
        self._transport = transport
        self._operation = operation
        self._path_values = path_values
        self._values = values
        self._read = read_list(read)
        self._options = options

    async def page(self, cursor: str | None = None) -> Page[ItemType]:
        """The first page, or the one of a cursor."""
        values = dict(self._values) if cursor is None else {**self._values, "cursor": cursor}
        response = await self._transport.call(self._operation, self._path_values, values, self._options)
        return Page(self._read(response.data), response.headers.get("x-next-cursor") or None)

    async def pages(self) -> AsyncIterator[Page[ItemType]]:
        """All pages."""
        cursor: str | None = None
        while True:
            page = await self.page(cursor)
            yield page
            if page.next_cursor is None:
                return
            if page.next_cursor == cursor:
                raise BerthError("The service repeats a page of the list, which would never end.", code="unexpected_response")
            cursor = page.next_cursor

    async def __aiter__(self) -> AsyncIterator[ItemType]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def all(self, maximum: int) -> list[ItemType]:
        """The first entries as a list, at most as many as given."""
        found: list[ItemType] = []
        if maximum <= 0:
            return found
        async for item in self:
            found.append(item)
            if len(found) >= maximum:
                break
        return found


class AsyncFile:
    """A file that is read as it comes. Use it in a ``with`` statement, or read it whole."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    @property
    def content_type(self) -> str | None:
        """Media type of the file."""
        return self._response.headers.get("content-type")

    @property
    def size(self) -> int | None:
        """Number of bytes, where the service says it."""
        length = self._response.headers.get("content-length", "")
        return int(length) if length.isdecimal() else None

    async def __aenter__(self) -> AsyncFile:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection. What was not read is lost."""
        await self._response.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _failures():
            async for chunk in self._response.aiter_bytes():
                yield chunk

    async def read(self) -> bytes:
        """The whole file."""
        with _failures():
            await _read(self._response)
        return self._response.content

    async def save(self, path: str | Path) -> int:
        """Writes the file to a path and returns its size. The path has the whole file or, after a failure, what it had before."""
        target = Path(path)
        part = target.with_name(f".{target.name}.part")
        size = 0
        try:
            with part.open("wb") as output:
                async for chunk in self:
                    output.write(chunk)
                    size += len(chunk)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
            await self.close()
        return size


@contextmanager
def _failures() -> Generator[None, None, None]:
    """Names what happens to a connection while a body is read."""
    try:
        yield
    except transport_errors as failure:
        raise to_error(failure) from failure


class AsyncEvents(Generic[ModelType]):
    """The events of a session. A stream that breaks off is resumed after the last event that came."""

    last_id: str | None
    """Id of the last event, with which a later stream goes on."""

    def __init__(
        self, transport: AsyncTransport, operation: Operation, path_values: Mapping[str, str], model: type[ModelType],
        last_event_id: str | int | None, options: RequestOptions | None,
    ) -> None:  # fmt: skip
        self._transport = transport
        self._operation = operation
        self._path_values = path_values
        self._model = model
        self._options = options
        self._response: httpx.Response | None = None
        self.last_id = None if last_event_id is None else str(last_event_id)

    async def __aenter__(self) -> AsyncEvents[ModelType]:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection."""
        response, self._response = self._response, None
        if response is not None:
            await response.aclose()

    async def __aiter__(self) -> AsyncIterator[ModelType]:
        failures = 0
        try:
            while True:
                reader = EventReader(self.last_id)
                error: BerthError | None = None
                request = self._request(failures)
                try:
                    response = await self._connect(request)
                    if response is None:
                        return
                    failures = request.attempts - 1
                    async for chunk in response.aiter_bytes():
                        for event in reader.feed(chunk):
                            failures = 0
                            self.last_id = event.id
                            yield self._model(_event_json(event.data))
                            if event.type == "session.ended":
                                return
                except transport_errors as failure:
                    error = to_error(failure)
                    error.__cause__ = failure
                await self.close()
                # A stream that ends without the end of the session was cut off on the way, or its worker stops.
                failures += 1
                if failures > request.max_retries:
                    if error is not None:
                        raise error
                    return
                await async_sleep(backoff(failures) if reader.retry_seconds is None else reader.retry_seconds)
        finally:
            await self.close()

    def _request(self, failures: int) -> Request:
        """A request that goes on after the last event. What failed since then counts as its attempts."""
        request = self._transport.options.request(self._operation, self._path_values, {}, self._options)
        request.attempts = failures
        if self.last_id is not None:
            request.headers["last-event-id"] = self.last_id
        return request

    async def _connect(self, request: Request) -> httpx.Response | None:
        """Opens the stream; None if the session ended while it was closed."""
        try:
            self._response = await self._transport.stream(request)
        except BerthError as error:
            if self._has_read and error.code == "session_ended":
                return None
            raise
        self._has_read = True
        return self._response

    _has_read = False


def _event_json(data: str) -> Mapping[str, Any]:
    import json

    try:
        event: Any = json.loads(data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise BerthError("An event of the stream is not JSON: something that is not the service answered.", code="unexpected_response")
    return event  # pyright: ignore[reportUnknownVariableType]


def read_reply(read: Read, response: Response) -> Any:
    """The reply of a response, as the given reader reads it."""
    return None if response.data is None else read(response.data)


__all__ = [
    "AsyncEvents",
    "AsyncFile",
    "AsyncPages",
    "AsyncResource",
    "AsyncSessionResource",
    "AsyncTransport",
    "Model",
    "Page",
    "read_reply",
]
