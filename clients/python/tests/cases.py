"""Runs `clients/cases.json`, which says what every client does, with both clients against a stand-in for the service."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import threading
import unittest
from pathlib import Path
from typing import Any, Callable
from unittest.mock import patch
from urllib.parse import parse_qsl, urlsplit

from berth import AsyncBerth, AsyncSession, Berth, BerthError, Model, Session
from berth.types import FetchResponse, SessionResponse

cases: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "cases.json").read_text("utf-8"))["cases"]
absent = object()


class StandIn:
    """A server that answers from a script and remembers what it was asked, one request for each connection."""

    def __init__(self, replies: list[dict[str, Any]]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.on_request: Callable[[], None] = lambda: None
        self.closing = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads: list[threading.Thread] = []
        self.acceptor = threading.Thread(target=self.accept)
        self.acceptor.start()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            if self.closing.is_set():
                connection.close()
                return
            thread = threading.Thread(target=self.serve, args=(connection,))
            self.threads.append(thread)
            thread.start()

    def close(self) -> None:
        self.closing.set()
        # A listener that another thread waits on is woken by a connection.
        socket.create_connection(self.listener.getsockname()).close()
        self.acceptor.join()
        self.listener.close()
        for thread in self.threads:
            thread.join()

    def serve(self, connection: socket.socket) -> None:
        with connection:
            request = self.read(connection)
            if request is None:
                return
            self.requests.append(request)
            reply = self.replies.pop(0) if self.replies else {"status": 500, "text": "no reply is left"}
            self.on_request()
            try:
                if reply.get("hang"):
                    self.closing.wait()
                elif not reply.get("drop"):
                    self.answer(connection, reply)
            except OSError:
                pass

    def read(self, connection: socket.socket) -> dict[str, Any] | None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return None
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers.get("content-length", "0")):
            body += connection.recv(65536)
        return {"method": method, "path": target, "headers": headers, "body": json.loads(body) if body else None}

    def answer(self, connection: socket.socket, reply: dict[str, Any]) -> None:
        events = reply.get("events")
        text = json.dumps(reply["body"]) if "body" in reply else reply.get("text", "")
        content = ("".join(events) if events is not None else text).encode()
        kind = "text/event-stream" if events is not None else "application/json" if "body" in reply else "text/plain"
        headers = {"content-type": kind, "connection": "close", **reply.get("headers", {})}
        if events is None and reply["status"] != 204:
            headers["content-length"] = str(len(content))
        elif events is not None:
            headers["transfer-encoding"] = "chunked"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(f"HTTP/1.1 {reply['status']} Scripted\r\n{lines}\r\n".encode("latin-1"))
        if events is None:
            connection.sendall(content)
            return
        size = reply.get("bytes_at_a_time", len(content))
        for start in range(0, len(content), size):
            piece = content[start : start + size]
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if reply.get("then") == "hang":
            self.closing.wait()
        elif reply.get("then") is None:
            connection.sendall(b"0\r\n\r\n")


class Cancelled(BaseException):
    """A wait that was cancelled."""


def plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_dict()
    return plain(value.info) if hasattr(value, "info") else value


def call_of(berth: Any, case: dict[str, Any]) -> Callable[[], Any]:
    """The call of a case, ready to be made. Parameters are arguments by name here."""
    call = case["call"]
    args = list(call["args"])
    options = dict(call.get("options", {}))
    if "timeout_seconds" in options:
        options["timeout"] = options.pop("timeout_seconds")
    named: dict[str, Any] = {}
    if "last_event_id" in options:
        named["last_event_id"] = options.pop("last_event_id")
    if call["method"] == "raw.request":
        target, sent = berth.request, args.pop()
        named.update(query=sent.get("query"), json=sent.get("body"))
    else:
        target, parts = berth, call["method"].split(".")
        if parts[0] == "session":
            handle = AsyncSession if isinstance(berth, AsyncBerth) else Session
            target, parts = handle(berth._transport, SessionResponse({"session_id": "ses_1"})), parts[1:]
        for part in parts:
            target = getattr(target, re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", part))
        if call["method"] == "jobs.wait":
            args = [FetchResponse(arg) if isinstance(arg, dict) else arg for arg in args]
        elif args and isinstance(args[-1], dict):
            named.update(args.pop())
    if options:
        named["options"] = options
    if call.get("how") == "with_response":
        return lambda: berth.with_response(target, *args, **named)
    return lambda: target(*args, **named)


class Outcome:
    """What came of a call."""

    def __init__(self) -> None:
        self.value: Any = absent
        self.items: list[Any] = []
        self.progress: list[int] = []
        self.error: BaseException | None = None
        self.next_cursor: Any = absent
        self.response: Any = None


def run_sync(case: dict[str, Any], berth: Berth) -> Outcome:
    outcome, how, take = Outcome(), case["call"].get("how"), case["call"].get("take")
    try:
        made = call_of(berth, case)
        if how == "job":
            outcome.value = plain(berth.jobs.wait(*_job(case), on_progress=lambda progress: outcome.progress.append(progress.step)))
        elif how in ("items", "events"):
            for item in made():
                outcome.items.append(plain(item))
                if len(outcome.items) == take:
                    break
        elif how == "page":
            page = made().page()
            outcome.items, outcome.next_cursor = [plain(item) for item in page], page.next_cursor
        elif how == "file":
            outcome.value = made().read().decode()
        elif how == "with_response":
            value, outcome.response = made()
            outcome.value = plain(value)
        else:
            value = made()
            outcome.value = value.data if case["call"]["method"] == "raw.request" else plain(value)
    except (Exception, KeyboardInterrupt, Cancelled) as error:
        outcome.error = error
    return outcome


async def run_async(case: dict[str, Any], berth: AsyncBerth) -> Outcome:
    outcome, how, take = Outcome(), case["call"].get("how"), case["call"].get("take")
    try:
        made = call_of(berth, case)
        if how == "job":
            outcome.value = plain(await berth.jobs.wait(*_job(case), on_progress=lambda progress: outcome.progress.append(progress.step)))
        elif how in ("items", "events"):
            async for item in made():
                outcome.items.append(plain(item))
                if len(outcome.items) == take:
                    break
        elif how == "page":
            page = await made().page()
            outcome.items, outcome.next_cursor = [plain(item) for item in page], page.next_cursor
        elif how == "file":
            outcome.value = (await (await made()).read()).decode()
        elif how == "with_response":
            value, outcome.response = await made()
            outcome.value = plain(value)
        else:
            value = await made()
            outcome.value = value.data if case["call"]["method"] == "raw.request" else plain(value)
    except (Exception, asyncio.CancelledError) as error:
        outcome.error = error
    return outcome


def _job(case: dict[str, Any]) -> list[Any]:
    return [FetchResponse(arg) if isinstance(arg, dict) else arg for arg in case["call"]["args"]]


class Cases(unittest.TestCase):
    """What every client does."""

    def setUp(self) -> None:
        self.waits: list[float] = []

    def options(self, case: dict[str, Any], server: StandIn) -> dict[str, Any]:
        given: dict[str, Any] = {"api_key": "test-key", "admin_key": "test-admin-key", **case.get("client", {})}
        path = given.pop("base_path", "")
        return {**given, "base_url": server.url + path}

    def in_sync(self, case: dict[str, Any], server: StandIn) -> Outcome:
        def wait(seconds: float) -> None:
            self.waits.append(seconds)
            if case.get("cancel") == "wait":
                raise Cancelled

        if case.get("cancel") == "request":
            server.on_request = lambda: os.kill(os.getpid(), signal.SIGINT)
        with patch("berth._sync.transport.sleep", wait), Berth(**self.options(case, server)) as berth:
            return run_sync(case, berth)

    def in_async(self, case: dict[str, Any], server: StandIn) -> Outcome:
        async def main() -> Outcome:
            loop = asyncio.get_running_loop()

            async def wait(seconds: float) -> None:
                self.waits.append(seconds)
                if case.get("cancel") == "wait":
                    task.cancel()
                await asyncio.sleep(0)

            with patch("berth._async.transport.async_sleep", wait):
                async with AsyncBerth(**self.options(case, server)) as berth:
                    task = asyncio.create_task(run_async(case, berth))
                    if case.get("cancel") == "request":
                        server.on_request = lambda: loop.call_soon_threadsafe(task.cancel) and None
                    if case.get("cancel") == "start":
                        await asyncio.sleep(0)
                        task.cancel()
                    return await task

        return asyncio.run(main())

    def check(self, case: dict[str, Any], server: StandIn, outcome: Outcome) -> None:
        self.check_requests(case["requests"], server.requests)
        if "waits" in case:
            self.assertEqual(len(self.waits), len(case["waits"]), self.waits)
            for wait, (least, most) in zip(self.waits, case["waits"]):
                self.assertTrue(least <= wait <= most, (wait, least, most))
        result = case["result"]
        if result.get("refused"):
            self.assertIsInstance(outcome.error, (ValueError, BerthError))
            return
        if result.get("cancelled"):
            self.assertIsInstance(outcome.error, (KeyboardInterrupt, Cancelled, asyncio.CancelledError))
            return
        if "error" in result:
            assert isinstance(outcome.error, BerthError), outcome.error
            self.assertEqual({name: getattr(outcome.error, name) for name in result["error"]}, result["error"])
        else:
            self.assertIsNone(outcome.error)
        if "value" in result:
            self.assertEqual(outcome.value, result["value"])
        for name in ("items", "events"):
            if name in result:
                self.assertEqual(outcome.items, result[name])
        if "progress" in result:
            self.assertEqual(outcome.progress, result["progress"])
        if "next_cursor" in result:
            self.assertEqual(outcome.next_cursor, result["next_cursor"])
        if "request_id" in result:
            self.assertEqual((outcome.response.status, outcome.response.request_id), (result["status"], result["request_id"]))

    def check_requests(self, wanted: list[dict[str, Any]], sent: list[dict[str, Any]]) -> None:
        def target(path: str) -> tuple[str, list[tuple[str, str]]]:
            parts = urlsplit(path)
            return parts.path, sorted(parse_qsl(parts.query, keep_blank_values=True))

        self.assertEqual([(r["method"], target(r["path"])) for r in sent], [(r["method"], target(r["path"])) for r in wanted])
        same: dict[str, set[str]] = {}
        for one, request in zip(wanted, sent):
            for name, value in one.get("headers", {}).items():
                if value == "$same":
                    self.assertTrue(request["headers"].get(name))
                    same.setdefault(name, set()).add(request["headers"][name])
                else:
                    self.assertEqual(request["headers"].get(name), value, name)
            if "body" in one:
                self.assertEqual(request["body"], one["body"])
        for name, values in same.items():
            self.assertEqual(len(values), 1, name)


def add(case: dict[str, Any], kind: str) -> None:
    # Without tasks, nobody can cancel a call that has not started.
    if kind == "in_sync" and case.get("cancel") == "start":
        return

    def test(self: Cases) -> None:
        server = StandIn(case["replies"])
        try:
            outcome = getattr(self, kind)(case, server)
        finally:
            server.close()
        self.check(case, server, outcome)

    name = re.sub(r"\W+", "_", case["name"]).strip("_")
    test.__doc__ = f"{case['name']} ({kind.removeprefix('in_')})"
    setattr(Cases, f"test_{name}_{kind}", test)


for each in cases:
    for how in ("in_sync", "in_async"):
        add(each, how)

if __name__ == "__main__":
    unittest.main()
