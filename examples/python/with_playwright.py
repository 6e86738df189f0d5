"""Playwright: a form, files in both directions, a browser context of its own."""

import os
import tempfile
from pathlib import Path
from urllib.parse import quote

from berth import Berth

html = """<!doctype html><title>Example</title>
<input id="name" aria-label="Name">
<button onclick="document.title = 'Hello ' + document.getElementById('name').value">Greet</button>
<input type="file" aria-label="File" onchange="document.title = files[0].name + ', ' + files[0].size + ' bytes'">
<a download="report.csv" href="data:text/csv,a,b">Download</a>"""
page_url = os.environ.get("PAGE_URL", f"data:text/html,{quote(html)}")

with Berth() as berth, berth.sessions.create(viewport={"width": 1000, "height": 700}) as session:
    browser = session.playwright()
    page = browser.contexts[0].pages[0]
    page.goto(page_url)
    assert page.evaluate("[innerWidth, innerHeight]") == [1000, 700]
    page.get_by_label("Name").fill("Ada")
    page.get_by_text("Greet").click()
    assert page.title() == "Hello Ada"

    with tempfile.TemporaryDirectory() as folder:
        # Playwright reads the file here and sends its content.
        report = Path(folder) / "report.csv"
        report.write_text("a,b")
        page.get_by_label("File").set_input_files(report)
        assert page.title() == "report.csv, 3 bytes"

        with page.expect_download() as started:
            page.get_by_text("Download").click()
        # On any computer: the path that Playwright expects ends in the id of the download.
        download_id = Path(started.value.path()).name
        assert session.downloads.get(download_id).read() == b"a,b"

    context = browser.new_context()
    other = context.new_page()
    other.goto(page_url)
    assert len(other.screenshot()) > 1000
    context.close()
