"""Steps of one element."""

from __future__ import annotations

import re
from typing import Any

from . import types as t
from ._core import Response
from ._errors import BerthError

_ref = re.compile(r"@?((?:f[0-9]{1,7})?e[0-9]{1,9})")


def target_of(target: str) -> dict[str, Any]:
    """The fields that name the element of a step: a ref of a snapshot, with or without an @ before it, or a selector."""
    ref = _ref.fullmatch(target)
    return {"ref": ref.group(1)} if ref else {"selectors": [target]}


def step_error(reply: t.ActionsResponse, response: Response) -> BerthError:
    """The error of a list of steps of which one failed. Its details have the reply, with what the step says of its failure."""
    error = next((result.error for result in reply.results if result.error is not None), None)
    details = error.get("details") if error is not None else None
    return BerthError(
        f"Step {reply.failed_index}: {'A step failed.' if error is None else error.message}",
        code="step_failed" if error is None else error.code,
        status=response.status,
        request_id=response.request_id,
        details={**reply.to_dict(), **({} if details is None else details.to_dict())},
    )
