"""A session as an object, and the calls that take more than one request."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Sequence

from .. import _operations as ops
from .. import params as p
from .. import types as t
from .._core import RequestOptions
from .._errors import BerthConfigurationError, BerthError, BerthTimeoutError
from .._steps import step_error, target_of
from .._time import monotonic
from .resources import AsyncJobs, AsyncSessionCalls, AsyncSessions
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing import TypeVar

    from playwright.async_api import Browser, Playwright
    from typing_extensions import Unpack

    ResultType = TypeVar("ResultType")

poll_seconds_max = 25
"""The service holds a poll for as long as this."""


class AsyncSession(AsyncSessionCalls):
    """A session. Used in a ``with`` statement it ends with the block, whatever happens in it."""

    id: str
    """Id of the session."""
    info: t.SessionResponse
    """What the service said of the session last."""

    def __init__(self, transport: AsyncTransport, info: t.SessionResponse) -> None:
        super().__init__(transport, info.session_id)
        self.id = info.session_id
        self.info = info
        self._drivers: list[Any] = []

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            await self.end()
        except BerthError:
            # What went wrong in the block says more. A session that nobody ends, ends when it is idle.
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, status={self.info.status!r})"

    async def refresh(self) -> t.SessionResponse:
        """Asks for the state of the session and keeps it in ``info``."""
        self.info = await self.get()
        return self.info

    async def end(self, *, options: RequestOptions | None = None) -> None:
        """Ends the session and disconnects the browsers that it handed out."""
        try:
            while self._drivers:
                await self._drivers.pop().stop()
        finally:
            await super().end(options=options)

    async def playwright(self, playwright: Playwright | None = None, **options: Any) -> Browser:
        """A connected browser of Playwright, which is disconnected when the session ends.

        A program that has started Playwright itself passes it on. Further options are those of ``connect_over_cdp``.
        """
        try:
            from playwright.async_api import async_playwright
        except ImportError:
            raise BerthConfigurationError(
                "Playwright is not installed. Run: pip install 'berth[playwright]'. It needs no browser of its own.", code="playwright_missing"
            ) from None
        address = await self.connect()
        if playwright is None:
            playwright = await async_playwright().start()
            self._drivers.append(playwright)
        return await playwright.chromium.connect_over_cdp(address.cdp_url, **options)

    async def act(
        self, actions: Sequence[p.Step] | None = None, *, options: RequestOptions | None = None, **params: Unpack[p.RunActionsParams]
    ) -> t.ActionsResponse:
        """Runs steps in order and returns their results.

        A step that failed raises a ``BerthError`` with the code of the step, unless ``stop_on_error`` is false.
        """
        body: dict[str, Any] = {**({} if actions is None else {"actions": actions}), **params}
        response = await self._transport.call(ops.run_actions, {"session_id": self.id}, body, options)
        reply = t.ActionsResponse(response.data)
        if reply.status == "error" and body.get("stop_on_error") is not False:
            raise step_error(reply, response)
        return reply

    async def click(self, target: str, **step: Any) -> t.StepResult:
        """Clicks an element: a ref of a snapshot such as ``e3``, or a selector. Further fields are those of the step."""
        return await self._step({"type": "click", **target_of(target), **step})

    async def hover(self, target: str, **step: Any) -> t.StepResult:
        """Moves the mouse over an element."""
        return await self._step({"type": "hover", **target_of(target), **step})

    async def fill(self, target: str, value: str, **step: Any) -> t.StepResult:
        """Replaces the value of a field."""
        return await self._step({"type": "fill", **target_of(target), "value": value, **step})

    async def type(self, target: str, text: str, **step: Any) -> t.StepResult:
        """Types text into a field, key by key."""
        return await self._step({"type": "type", **target_of(target), "text": text, **step})

    async def press(self, keys: str, **step: Any) -> t.StepResult:
        """Presses a key or a chord, such as ``Enter`` or ``Control+A``, where the focus is."""
        return await self._step({"type": "press", "keys": keys, **step})

    async def _step(self, step: Any) -> t.StepResult:
        return (await self.act([step])).results[0]


class AsyncSessionHandles(AsyncSessions):
    """Sessions: create them, find them, and call them by their id."""

    async def create(self, *, options: RequestOptions | None = None, **params: Unpack[p.CreateSessionParams]) -> AsyncSession:
        """Create a session.

        Starts a browser in a machine of its own. Used in a ``with`` statement, the session ends with the block.
        """
        response = await self._transport.call(ops.create_session, {}, {**params}, options)
        return AsyncSession(self._transport, t.SessionResponse(response.data))

    async def attach(self, session_id: str) -> AsyncSession:
        """A session that exists, as `create` returns it."""
        return AsyncSession(self._transport, await self.get(session_id))


class AsyncJobHandles(AsyncJobs):
    """Jobs: poll them, wait for them, cancel them."""

    async def wait(
        self,
        job: str | t.JobResponse | t.FetchResponse | t.InspectResponse | t.AgentResponse | t.TemplateResponse,
        *,
        on_progress: Callable[[t.JobItemResponseProgress], object] | None = None,
        timeout: float | None = None,
        options: RequestOptions | None = None,
    ) -> t.JobResponse:
        """Waits until a job is done, and returns it with its result.

        ``on_progress`` is called with the progress whenever it has changed. ``timeout`` is for the wait as a whole; the
        job goes on when it is over.
        """
        job_id = job if isinstance(job, str) else job.job_id
        if job_id is None:
            raise ValueError("job: the reply has no job_id, so it was no job. Send async_=True")
        since = monotonic()
        seen: Any = None
        while True:
            left = poll_seconds_max if timeout is None else max(0, min(poll_seconds_max, int(timeout - (monotonic() - since))))
            found = await self.get(job_id, options=options, wait_seconds=left)
            if on_progress is not None and found.progress != seen:
                on_progress(found.progress)
            seen = found.progress
            if found.status != "pending":
                return found
            if timeout is not None and monotonic() - since >= timeout:
                raise BerthTimeoutError(f"The job {job_id} is not done after {timeout:g} seconds. It goes on.", code="timed_out", retryable=True)
