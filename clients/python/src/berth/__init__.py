"""Client of Berth, a self-hosted browser cloud.

    from berth import Berth

    with Berth() as berth, berth.sessions.create() as session:
        session.navigate("https://example.com/")
        print(session.content(format="markdown").content)

:class:`Berth` waits for each reply; :class:`AsyncBerth` has the same calls for ``asyncio``.
"""

from ._async.client import AsyncBerth
from ._async.handles import AsyncSession
from ._async.transport import AsyncEvents, AsyncFile, AsyncPages
from ._core import RequestOptions, Response
from ._errors import BerthConfigurationError, BerthConnectionError, BerthError, BerthTimeoutError
from ._model import Model
from ._sync.client import Berth
from ._sync.handles import Session
from ._sync.transport import Events, File, Pages
from ._version import version as __version__

__all__ = [
    "AsyncBerth",
    "AsyncEvents",
    "AsyncFile",
    "AsyncPages",
    "AsyncSession",
    "Berth",
    "BerthConfigurationError",
    "BerthConnectionError",
    "BerthError",
    "BerthTimeoutError",
    "Events",
    "File",
    "Model",
    "Pages",
    "RequestOptions",
    "Response",
    "Session",
    "__version__",
]
