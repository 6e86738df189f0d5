"""The client."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Mapping, TypeVar

import httpx

from .._config import read_settings
from .._core import ClientOptions, Operation, RequestOptions, Response, encode_json, encode_query, retries_default, seen_responses
from .handles import AsyncJobHandles, AsyncSessionHandles
from .resources import AsyncCalls
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    Parameters = ParamSpec("Parameters")

ResultType = TypeVar("ResultType")


class AsyncBerth(AsyncCalls):
    """A client of Berth.

    The service and the key come from the arguments, else from BERTH_URL, BERTH_API_KEY and BERTH_ADMIN_KEY, else from the
    profile that the command line has signed in with. Used in a ``with`` statement, its connections are closed with the block.
    """

    sessions: AsyncSessionHandles
    """Sessions: browsers in machines of their own."""
    jobs: AsyncJobHandles
    """Work that outlives its request."""

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        admin_key: str | None = None,
        timeout: float | None = None,
        max_retries: int = retries_default,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Makes a client.

        ``timeout`` is in seconds, for each request; by default a minute, or what the service takes at most for the call.
        A request that failed for a reason that may pass is sent again, ``max_retries`` times.
        ``http_client`` is used in place of a client of our own, for proxies or certificates; it is not closed.
        """
        settings = read_settings(base_url, api_key, admin_key)
        transport = AsyncTransport(ClientOptions(settings, timeout, max_retries, headers or {}), http_client)
        super().__init__(transport)
        self.sessions = AsyncSessionHandles(transport)
        self.jobs = AsyncJobHandles(transport)

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._transport.options.settings.base_url

    async def __aenter__(self) -> AsyncBerth:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def request(
        self, method: str, path: str, *, json: Any = None, query: Mapping[str, Any] | None = None, options: RequestOptions | None = None
    ) -> Response:
        """Sends any request with the client's key, its retries and its errors, and returns the response beside what it says.

        For endpoints of a newer service than this client knows.
        """
        if not path.startswith("/"):
            raise ValueError("path: it must begin with a slash")
        names = frozenset(query or ())
        credential = "admin" if path.startswith("/admin/") or path.startswith("/v1/admin/") else "key"
        operation = Operation("request", method.upper(), path, credential, names, takes_key=method.upper() == "POST", has_body=json is not None)
        request = self._transport.options.prepare(operation, path + encode_query(query or {}), None if json is None else encode_json(json), options)
        return await self._transport.send(request, "any")

    async def with_response(
        self, call: Callable[Parameters, Awaitable[ResultType]], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> tuple[ResultType, Response]:
        """Runs a call and returns its result with the response that it came in: ``with_response(berth.sessions.get, session_id)``.

        Of a call that sends several requests, the response is the last one.
        """
        responses: list[Response] = []
        token = seen_responses.set(responses)
        try:
            result = await call(*args, **kwargs)
        finally:
            seen_responses.reset(token)
        if not responses:
            raise ValueError("call: it sent no request")
        return result, responses[-1]
