"""What the client promises, against the service that BERTH_URL names. SITE_URL is a site that its browsers may reach."""

from __future__ import annotations

import asyncio
import io
import os
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Awaitable, Callable

from berth import AsyncBerth, Berth, BerthError, Session

site = os.environ["SITE_URL"]


def run(work: Callable[[AsyncBerth], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with AsyncBerth() as berth:
            return await work(berth)

    return asyncio.run(main())


class WithSession(unittest.TestCase):
    """Tests that share a session."""

    berth: Berth
    session: Session

    @classmethod
    def setUpClass(cls) -> None:
        cls.berth = Berth()
        cls.session = cls.berth.sessions.create(name="python")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.session.end()
        cls.berth.close()

    def test_a_page_is_opened_read_and_captured(self) -> None:
        reply = self.session.navigate(f"{site}/form")
        self.assertEqual((reply.title, reply["title"], reply.status_code), ("Form", "Form", 200))
        self.assertIn("Greet", self.session.content(format="text").content)
        self.assertEqual(self.session.screenshot().to_bytes()[:4], b"\x89PNG")
        self.assertEqual(self.session.pdf().to_bytes()[:4], b"%PDF")

    def test_steps_run_in_their_order(self) -> None:
        self.session.navigate(f"{site}/form")
        reply = self.session.act([{"type": "fill", "selectors": ["#name"], "value": "Ada"}, {"type": "click", "selectors": ["#greet"]}])
        self.assertEqual((reply.status, [result.type for result in reply.results]), ("ok", ["fill", "click"]))
        self.assertEqual(self.session.tabs.list()[0].title, "Hello Ada")

    def test_a_single_step_has_a_method_of_its_own(self) -> None:
        self.session.navigate(f"{site}/form")
        self.session.fill("label/Name", "Grace")
        self.session.hover("#greet")
        self.session.click("#greet")
        self.assertEqual(self.session.tabs.list()[0].title, "Hello Grace")

    def test_a_single_step_that_fails_raises_its_error(self) -> None:
        self.session.navigate(f"{site}/form")
        with self.assertRaises(BerthError) as caught:
            self.session.click("#missing", timeout_ms=100)
        self.assertEqual(caught.exception.code, "not_found")
        self.assertIn("#missing", caught.exception.message)

    def test_a_file_is_uploaded_from_bytes_a_path_and_an_open_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "by-path.csv"
            path.write_bytes(b"a,b")
            with path.open("rb") as opened:
                files = [self.session.upload(b"a,b", name="bytes.csv"), self.session.upload(path), self.session.upload(opened, name="opened.csv")]
        self.assertEqual([(file.name, file.bytes) for file in files], [("bytes.csv", 3), ("by-path.csv", 3), ("opened.csv", 3)])
        self.assertEqual(len({file.sha256 for file in files}), 1)

    def test_a_download_is_streamed_into_a_file(self) -> None:
        self.session.navigate(f"{site}/form")
        reply = self.session.act([{"type": "download", "selectors": ["#file"]}])
        self.assertEqual(reply.status, "ok", reply)
        found = self.session.downloads.list()[0]
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "saved"
            with self.session.downloads.get(found.download_id) as file:
                self.assertEqual(file.save(target), target.stat().st_size)
            with self.session.downloads.get(found.download_id) as file:
                self.assertEqual(b"".join(file), target.read_bytes())
            self.assertEqual(self.session.downloads.get(found.download_id).read(), target.read_bytes())
            self.assertEqual([entry.name for entry in Path(folder).iterdir()], ["saved"])

    def test_events_come_as_they_happen_and_go_on_after_the_last_one(self) -> None:
        with self.session.events(last_event_id=0) as events:
            first = next(iter(events))
        self.assertEqual((first.id, first.type), (1, "session.ready"))
        self.session.navigate(f"{site}/second")
        with self.session.events(last_event_id=first.id) as events:
            second = next(event for event in events if event.type == "navigation" and event.data["url"].endswith("/second"))
        self.assertGreater(second.id, first.id)

    def test_an_error_says_what_to_change(self) -> None:
        with self.assertRaises(BerthError) as caught:
            self.berth.sessions.create(viewport={"width": 1, "height": 1})
        error = caught.exception
        self.assertEqual((error.status, error.code, error.retryable), (422, "validation_error", False))
        self.assertEqual(error.issues[0]["loc"], ["body", "viewport", "width"])
        self.assertTrue(error.request_id)
        with self.assertRaises(BerthError) as caught:
            self.berth.sessions.get("ses_missing")
        self.assertEqual((caught.exception.status, caught.exception.code), (404, "session_not_found"))

    def test_a_list_goes_on_over_its_pages(self) -> None:
        with self.berth.sessions.create() as other:
            ids = [session.session_id for session in self.berth.sessions.list(status="ready", limit=1)]
            self.assertEqual({self.session.id, other.id} - set(ids), set())
            self.assertEqual(len(ids), len(set(ids)))
            page = self.berth.sessions.list(status="ready", limit=1).page()
            self.assertEqual((len(page), page.has_more), (1, True))
            self.assertEqual(len(self.berth.sessions.list(limit=1).all(maximum=2)), 2)
        self.assertIn(self.berth.sessions.get(other.id).status, ("ending", "ended"))

    def test_a_session_ends_with_its_block_also_when_that_fails(self) -> None:
        with self.assertRaises(ZeroDivisionError), self.berth.sessions.create() as session:
            1 / 0
        self.assertIn(self.berth.sessions.get(session.id).status, ("ending", "ended"))

    def test_sessions_are_found_by_metadata(self) -> None:
        with self.berth.sessions.create(metadata={"run": "7"}) as other:
            found = self.berth.sessions.list(metadata={"run": "7"}).all(maximum=10)
        self.assertEqual([session.session_id for session in found], [other.id])

    def test_a_live_view_link_is_made(self) -> None:
        link = self.session.live_view(scope="control")
        self.assertEqual(link.scope, "control")
        self.assertTrue(link.url and self.session.id in link.url)

    def test_a_session_is_attached_to_by_its_id(self) -> None:
        again = self.berth.sessions.attach(self.session.id)
        self.assertEqual((again.id, again.info.name), (self.session.id, "python"))

    def test_a_call_is_run_once_for_its_key(self) -> None:
        first = self.berth.sessions.create(options={"idempotency_key": f"python-{self.session.id}"})
        again = self.berth.sessions.create(options={"idempotency_key": f"python-{self.session.id}"})
        self.assertEqual(first.id, again.id)
        first.end()


class Work(unittest.TestCase):
    """What needs no session."""

    def test_a_page_is_fetched(self) -> None:
        with Berth() as berth:
            reply = berth.fetch(f"{site}/", formats=["markdown"])
        self.assertEqual(reply.status, "ok")
        self.assertIn("Welcome", reply.markdown or "")

    def test_a_job_is_waited_for_with_its_progress(self) -> None:
        seen: list[int] = []
        with Berth() as berth:
            job = berth.fetch(f"{site}/second", formats=["text"], async_=True)
            done = berth.jobs.wait(job, on_progress=lambda progress: seen.append(progress.step))
        self.assertEqual((done.status, done.stage, seen), ("ok", "done", sorted(set(seen))))
        self.assertTrue(seen)
        self.assertIn("second page", (done.result or {})["text"])

    def test_a_site_is_inspected_and_a_flow_run(self) -> None:
        with Berth() as berth:
            self.assertEqual(berth.inspect(f"{site}/").status, "ok")
            self.assertIn("crawl", [flow.name for flow in berth.flows.list()])
            reply = berth.run("crawl", inputs={"url": f"{site}/", "max_pages": 1})
            self.assertEqual(reply.status, "ok", reply)

    def test_operators_have_calls_of_their_own(self) -> None:
        with Berth() as berth:
            self.assertTrue([owner for owner in berth.admin.owners.list()])
            self.assertTrue(berth.admin.overview())
            self.assertIn("berth_", berth.admin.metrics())

    def test_a_response_is_seen_beside_its_reply(self) -> None:
        with Berth() as berth:
            regions, response = berth.with_response(berth.regions.list)
            self.assertTrue(regions.regions)
            self.assertEqual(response.status, 200)
            self.assertTrue(response.request_id)
            raw = berth.request("GET", "/v1/sessions", query={"limit": 1})
            self.assertIsInstance(raw.data, list)

    def test_threads_share_a_client(self) -> None:
        found: list[str] = []
        with Berth() as berth:
            threads = [threading.Thread(target=lambda: found.append(berth.health().status)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(found, ["ok"] * 8)


class Asynchronous(unittest.TestCase):
    """The same calls, for asyncio."""

    def test_a_session_is_driven_and_ended(self) -> None:
        async def work(berth: AsyncBerth) -> str:
            async with await berth.sessions.create() as session:
                await session.navigate(f"{site}/form")
                await session.fill("#name", "Ada")
                await session.click("#greet")
                self.assertEqual((await session.tabs.list())[0].title, "Hello Ada")
                file = await session.upload(io.BytesIO(b"a,b"), name="async.csv")
                self.assertEqual(file.bytes, 3)
                await session.act([{"type": "download", "selectors": ["#file"]}])
                [found] = await session.downloads.list()
                async with await session.downloads.get(found.download_id) as download:
                    self.assertTrue([chunk async for chunk in download])
                async with session.events(last_event_id=0) as events:
                    async for event in events:
                        self.assertEqual(event.type, "session.ready")
                        break
                self.assertIn(session.id, [item.session_id async for item in berth.sessions.list(status="ready")])
            return (await berth.sessions.get(session.id)).status

        self.assertIn(run(work), ("ending", "ended"))

    def test_calls_run_side_by_side(self) -> None:
        async def work(berth: AsyncBerth) -> list[Any]:
            return await asyncio.gather(*(berth.fetch(f"{site}/", mode="http", formats=["text"]) for _ in range(5)))

        self.assertEqual([reply.status for reply in run(work)], ["ok"] * 5)

    def test_a_job_is_waited_for(self) -> None:
        async def work(berth: AsyncBerth) -> str:
            job = await berth.fetch(f"{site}/", async_=True)
            return (await berth.jobs.wait(job)).status

        self.assertEqual(run(work), "ok")

    def test_a_call_that_is_cancelled_ends_at_once(self) -> None:
        async def work(berth: AsyncBerth) -> None:
            async with await berth.sessions.create() as session:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(session.act([{"type": "wait", "ms": 60_000}]), 1)

        run(work)


class Browsers(unittest.TestCase):
    """Connected browsers of Playwright."""

    def test_a_session_hands_out_a_browser(self) -> None:
        with Berth() as berth, berth.sessions.create() as session:
            page = session.playwright().contexts[0].pages[0]
            page.goto(f"{site}/form")
            page.get_by_label("Name").fill("Ada")
            page.get_by_text("Greet").click()
            self.assertEqual(page.title(), "Hello Ada")
            self.assertEqual(session.tabs.list()[0].title, "Hello Ada")

    def test_an_asynchronous_session_hands_out_a_browser(self) -> None:
        async def work(berth: AsyncBerth) -> None:
            async with await berth.sessions.create() as session:
                browser = await session.playwright()
                page = browser.contexts[0].pages[0]
                await page.goto(f"{site}/second")
                self.assertEqual(await page.title(), "Second")

        run(work)


if __name__ == "__main__":
    unittest.main()
