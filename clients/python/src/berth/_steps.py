"""Steps of one element."""

from __future__ import annotations

import re
from typing import Any

from . import types as t
from ._errors import BerthError

_ref = re.compile(r"@?((?:f[0-9]{1,7})?e[0-9]{1,9})")


def target_of(target: str) -> dict[str, Any]:
    """The fields that name the element of a step: a ref of a snapshot, with or without an @ before it, or a selector."""
    ref = _ref.fullmatch(target)
    return {"ref": ref.group(1)} if ref else {"selectors": [target]}


def step_error(result: t.StepResult) -> BerthError:
    """The error of a step that failed."""
    error = result.error
    if error is None:
        return BerthError("The step failed.", code="step_failed")
    details = error.get("details")
    return BerthError(error.message, code=error.code, details=None if details is None else details.to_dict())
