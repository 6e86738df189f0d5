"""Waiting, for the two kinds of clients."""

from __future__ import annotations

import asyncio
import time


async def async_sleep(seconds: float) -> None:
    """Waits without holding up other tasks."""
    await asyncio.sleep(seconds)


def sleep(seconds: float) -> None:
    """Waits."""
    time.sleep(seconds)


monotonic = time.monotonic
