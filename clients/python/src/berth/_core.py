"""What a request is, and whether it is sent again: all that needs no connection, for the two kinds of clients."""

from __future__ import annotations

import json
import random
import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO, Any, Callable, Mapping, Sequence, TypedDict, Union, cast
from urllib.parse import quote, urlencode

import httpx

from ._config import Settings
from ._errors import BerthConfigurationError, BerthConnectionError, BerthError, BerthTimeoutError
from ._version import version

retries_default = 2
retry_seconds_first = 0.5
retry_seconds_max = 8.0
retry_after_seconds_max = 60.0
"""A service that asks for a longer wait than this asks the caller: nobody expects a call to sleep for an hour."""
timeout_seconds_default = 60.0
connect_seconds_max = 10.0
"""A service that is there accepts a connection in less, also from another continent."""
grace_seconds = 15.0
"""The service ends a call at its deadline and says so; the client waits this much longer to hear it."""

FileInput = Union[str, Path, bytes, IO[bytes]]
"""A file to upload: its path, its bytes, or an open file."""


class RequestOptions(TypedDict, total=False):
    """How one request is sent."""

    timeout: float
    """Seconds to wait for the response."""
    max_retries: int
    """How often the request is sent again after a failure that may pass."""
    idempotency_key: str
    """Key under which the service runs a POST once. Default: a new one for each call, the same for all its retries."""
    headers: Mapping[str, str]
    """Headers to send besides."""


@dataclass(frozen=True)
class Operation:
    """What the client knows of an endpoint."""

    id: str
    method: str
    path: str
    credential: str = "key"
    query: frozenset[str] = frozenset()
    prefix: str | None = None
    """Prefix of a query parameter that takes an object: ``metadata.`` for ``metadata.KEY``."""
    is_path_open: bool = False
    takes_key: bool = False
    has_body: bool = False
    form: str = "json"
    deadline: float | None = None
    """Seconds after which the service itself gives up."""


@dataclass(frozen=True)
class Response:
    """A response beside what it says: status, headers and the id under which the operator finds the request."""

    status: int
    headers: Mapping[str, str]
    data: Any

    @property
    def request_id(self) -> str | None:
        """Id of the request in the logs of the service."""
        return self.headers.get("x-request-id")


@dataclass
class Upload:
    """A file of a multipart request. It can be sent again if it can be rewound."""

    name: str
    content: IO[bytes]
    start: int | None
    closes: bool

    def close(self) -> None:
        """Closes a file that the client has opened itself."""
        if self.closes:
            self.content.close()


@dataclass
class Request:
    """A request as it is sent, the same at each attempt."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None
    upload: Upload | None
    timeout: httpx.Timeout
    max_retries: int
    is_repeatable: bool
    """Whether the request takes effect once, however often it is sent."""
    attempts: int = field(default=0)


seen_responses: ContextVar[list[Response] | None] = ContextVar("seen_responses", default=None)
"""Where `with_response` listens."""


@dataclass(frozen=True)
class ClientOptions:
    """What holds for all requests of a client."""

    settings: Settings
    timeout: float | None
    max_retries: int
    headers: Mapping[str, str]

    def request(
        self,
        operation: Operation,
        path_values: Mapping[str, str],
        values: Mapping[str, Any],
        options: RequestOptions | None,
        upload: Upload | None = None,
    ) -> Request:
        """Makes the request of an operation."""
        query, body = _divide(operation, values)
        content = encode_json(body) if operation.has_body and upload is None else None
        return self.prepare(operation, _fill(operation, path_values) + encode_query(query), content, options, upload)

    def prepare(self, operation: Operation, path: str, content: bytes | None, options: RequestOptions | None, upload: Upload | None = None) -> Request:
        """Makes a request of a path, a body and what is known of the operation."""
        options = options or {}
        headers = {"accept": "text/event-stream" if operation.form == "events" else "*/*", "user-agent": f"berth-python/{version}"}
        headers.update({name.lower(): value for name, value in self.headers.items()})
        headers.update(_credentials(operation.credential, self.settings))
        if content is not None:
            headers["content-type"] = "application/json"
        key = options.get("idempotency_key") or (f"berth-python-{uuid.uuid4()}" if operation.takes_key else None)
        if key is not None:
            headers["idempotency-key"] = key
        headers.update({name.lower(): value for name, value in options.get("headers", {}).items()})
        is_repeatable = operation.method != "POST" or "idempotency-key" in headers
        if upload is not None and upload.start is None:
            is_repeatable = False
        retries = max(0, options.get("max_retries", self.max_retries))
        return Request(
            operation.method, self.settings.base_url + path, headers, content, upload,
            self._timeout(operation, options), retries, is_repeatable,
        )  # fmt: skip

    def _timeout(self, operation: Operation, options: RequestOptions) -> httpx.Timeout:
        explicit = options.get("timeout", self.timeout)
        # The service sends a comment every quarter of a minute while a stream of events is silent, and a day is no timeout.
        deadline = operation.deadline if operation.form == "json" else None
        seconds = explicit if explicit is not None else max(timeout_seconds_default, (deadline or 0) + grace_seconds)
        return httpx.Timeout(seconds, connect=min(seconds, connect_seconds_max))


def _credentials(kind: str, settings: Settings) -> dict[str, str]:
    if kind == "none":
        return {}
    if kind == "admin":
        if settings.admin_key is None:
            raise BerthConfigurationError(
                "This call needs the operator's key. Set BERTH_ADMIN_KEY, or pass admin_key to the client.", code="missing_admin_key"
            )
        return {"x-admin-key": settings.admin_key}
    if settings.api_key is None:
        raise BerthConfigurationError(
            "There is no API key. Set BERTH_API_KEY, pass api_key to the client, or sign in with the command line.", code="missing_api_key"
        )
    return {"authorization": f"Bearer {settings.api_key}"}


def _divide(operation: Operation, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What goes into the query, and what into the body. Arguments whose name is a word of Python have an underscore behind it."""
    query: dict[str, Any] = {}
    body: dict[str, Any] = {}
    for argument, value in values.items():
        name = argument[:-1] if argument.endswith("_") else argument
        if operation.prefix is not None and isinstance(value, Mapping) and name == operation.prefix.rstrip("."):
            query.update({f"{operation.prefix}{key}": item for key, item in cast("Mapping[str, Any]", value).items()})
        elif name in operation.query or not operation.has_body:
            query[name] = value
        else:
            body[name] = value
    return query, body


def encode_query(values: Mapping[str, Any]) -> str:
    """A query, with its question mark, of the values that are not None."""
    pairs = [(name, _query_text(value)) for name, value in values.items() if value is not None]
    return f"?{urlencode(pairs)}" if pairs else ""


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return ",".join(_query_text(item) for item in cast("Sequence[Any]", value))
    return str(value)


def _fill(operation: Operation, values: Mapping[str, str]) -> str:
    """The path of a request. An empty value, and one of dots, would lead to another endpoint."""
    path = operation.path
    names = list(values)
    for name, value in values.items():
        is_open = operation.is_path_open and name == names[-1]
        parts = value.split("/") if is_open else [value]
        if any(part in ("", ".", "..") for part in parts):
            raise ValueError(f"{name} must not be empty or consist of dots: {value!r}")
        path = path.replace(f"{{{name}}}", "/".join(quote(part, safe="") for part in parts))
    return path


def encode_json(value: Any) -> bytes:
    """JSON in ASCII, so that a half of a surrogate pair reaches the service as it is."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def open_upload(file: FileInput, name: str | None) -> Upload:
    """Makes an upload of a path, of bytes or of an open file."""
    import io

    if isinstance(file, (str, Path)):
        return Upload(name or Path(file).name, open(file, "rb"), 0, True)
    if isinstance(file, (bytes, bytearray, memoryview)):
        if not name:
            raise ValueError("name: bytes have no name of their own")
        return Upload(name, io.BytesIO(file), 0, True)
    own_name = getattr(file, "name", None)
    name = name or (Path(own_name).name if isinstance(own_name, str) else None)
    if not name:
        raise ValueError("name: the file has no name of its own")
    try:
        start = file.tell() if file.seekable() else None
    except OSError:
        start = None
    return Upload(name, file, start, False)


def retry_delay(request: Request, error: BerthError, has_answer: str | None) -> float | None:
    """Seconds until the request is sent again; None if it is not.

    ``has_answer`` is what the service said in ``x-should-retry``; without it, the status decides.
    """
    if request.attempts > request.max_retries:
        return None
    if has_answer is not None:
        wanted = has_answer == "true"
    elif error.status is not None:
        # No service of ours: a proxy before it, which knows no more than the status.
        wanted = request.is_repeatable and (error.status in (408, 429) or error.status >= 500)
    else:
        wanted = request.is_repeatable
    if not wanted:
        return None
    if error.retry_after_seconds is not None:
        return error.retry_after_seconds if error.retry_after_seconds <= retry_after_seconds_max else None
    return backoff(request.attempts)


def backoff(attempts: int) -> float:
    """Half a second, doubled with each attempt, less up to a quarter of it, so that clients do not come back all at once."""
    return min(retry_seconds_first * 2 ** (attempts - 1), retry_seconds_max) * (1 - random.random() / 4)


def to_error(error: Exception) -> BerthError:
    """What a failure of the connection is called."""
    if isinstance(error, BerthError):
        return error
    if isinstance(error, httpx.TimeoutException):
        return BerthTimeoutError(
            "The service did not answer in time. Give the call a longer timeout, or less to do.", code="timed_out", retryable=True
        )
    reason = str(error) or type(error).__name__
    return BerthConnectionError(f"The service could not be reached, or the connection was lost: {reason}", code="connection_failed", retryable=True)


transport_errors: tuple[type[Exception], ...] = (httpx.TransportError, httpx.StreamError, httpx.DecodingError)


def read_error(status: int, headers: Mapping[str, str], content: bytes) -> BerthError:
    """Makes an error of a response."""
    answer = headers.get("x-should-retry")
    retry_after = _read_retry_after(headers.get("retry-after"))
    request_id = headers.get("x-request-id")
    try:
        document: Any = json.loads(content)
    except ValueError:
        document = None
    body = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    given: Any = body.get("error")
    if not isinstance(given, dict):
        # A proxy on the way. Its page may be long, and is of no use.
        message = f"A server on the way answered with status {status}, not the service. Check the address, and the proxies before it."
        return BerthError(
            message, code="unexpected_response", status=status, request_id=request_id, retry_after_seconds=retry_after,
            retryable=answer == "true" or status in (408, 429) or status >= 500,
        )  # fmt: skip
    error = cast("dict[str, Any]", given)
    issues: Any = body.get("detail")
    details: Any = error.get("details")
    return BerthError(
        str(error.get("message", "")),
        code=str(error.get("code", "unexpected_response")),
        status=status,
        request_id=str(error.get("request_id") or request_id or "") or None,
        retryable=bool(error.get("retryable", answer == "true")),
        details=cast("dict[str, Any]", details) if isinstance(details, dict) else {},
        issues=cast("list[dict[str, Any]]", issues) if isinstance(issues, list) else [],
        retry_after_seconds=retry_after,
    )


def _read_retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    import time

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, IndexError):
        return None


def read_json(response: httpx.Response) -> Any:
    """The JSON of a success."""
    try:
        return json.loads(response.content)
    except ValueError:
        raise BerthError(
            "The response is not JSON: something that is not the service answered. Check the address.",
            code="unexpected_response", status=response.status_code, request_id=response.headers.get("x-request-id"),
        ) from None  # fmt: skip


def read_any(response: httpx.Response) -> Any:
    """JSON as what it says, anything else as bytes."""
    is_json = response.headers.get("content-type", "").startswith("application/json")
    return read_json(response) if is_json and response.content else response.content


Read = Callable[[Any], Any]
