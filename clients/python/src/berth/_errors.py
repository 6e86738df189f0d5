"""The errors of this client."""

from __future__ import annotations

from typing import Any, Mapping

Details = Mapping[str, Any]


class BerthError(Exception):
    """An error of the service, or of the way to it.

    ``code`` is for programs, the message for people: it says what to change.
    """

    code: str
    """Code of the service, such as ``session_not_found``, or of this client: ``connection_failed``, ``timed_out``, ``unexpected_response``."""
    message: str
    """What is wrong and what to do."""
    status: int | None
    """HTTP status of the response; None where there was none."""
    request_id: str | None
    """Id under which the operator finds the request in the logs; None where there was no response."""
    retryable: bool
    """Whether the same request may succeed later without a change."""
    details: Details
    """Further data about the error; its fields depend on the code."""
    issues: list[dict[str, Any]]
    """What is wrong with a request that breaks its schema, one entry a field; empty for all other errors."""
    retry_after_seconds: float | None
    """Seconds after which the service asked to try again; None where it did not say."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        details: Details | None = None,
        issues: list[dict[str, Any]] | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retryable = retryable
        self.details = details or {}
        self.issues = issues or []
        self.retry_after_seconds = retry_after_seconds

    def __str__(self) -> str:
        where = [part for part in (str(self.status or ""), self.request_id or "") if part]
        return f"{self.code}: {self.message}" + (f" ({', '.join(where)})" if where else "")


class BerthConnectionError(BerthError):
    """The service could not be reached, or the connection was lost before the response was complete."""


class BerthTimeoutError(BerthConnectionError):
    """The service did not answer in time."""


class BerthConfigurationError(BerthError):
    """An argument, a variable or the profile file names no service or no key, or one that cannot be used."""
