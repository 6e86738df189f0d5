"""LangChain: documents by a loader, and the tools of its Playwright toolkit in a browser of Berth."""

import os
from typing import Iterator

from langchain_community.agent_toolkits import PlayWrightBrowserToolkit
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from berth import Berth

site = os.environ.get("SITE_URL", "https://example.com")


class BerthLoader(BaseLoader):
    """Pages as Markdown. The loaders of LangChain itself start a browser where they run, and connect to none."""

    def __init__(self, berth: Berth, urls: list[str]) -> None:
        self.berth = berth
        self.urls = urls

    def lazy_load(self) -> Iterator[Document]:
        for url in self.urls:
            page = self.berth.fetch(url, formats=["markdown"])
            yield Document(page.markdown or "", metadata={"source": page.final_url, "title": page.title})


with Berth() as berth:
    [document] = BerthLoader(berth, [f"{site}/"]).load()
    assert document.page_content and document.metadata["title"], document

    with berth.sessions.create() as session:
        toolkit = PlayWrightBrowserToolkit.from_browser(sync_browser=session.playwright())
        tools = {tool.name: tool for tool in toolkit.get_tools()}
        assert "status code 200" in tools["navigate_browser"].run({"url": f"{site}/"})
        assert tools["current_webpage"].run({}) == f"{site}/"
        assert tools["get_elements"].run({"selector": "h1", "attributes": ["innerText"]}) != "[]"
