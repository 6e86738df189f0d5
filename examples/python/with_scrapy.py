"""Scrapy with scrapy-playwright: the pages of a site, each rendered in a browser of Berth."""

import os
from typing import Any, AsyncIterator

import scrapy
from scrapy.crawler import CrawlerProcess

from berth import Berth

site = os.environ.get("SITE_URL", "https://example.com")
titles: list[str] = []


class Pages(scrapy.Spider):
    name = "pages"

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(f"{site}/", meta={"playwright": True})

    def parse(self, response: Any) -> Any:
        titles.append(response.css("title::text").get())
        for link in response.css("a[id=second]::attr(href)").getall():
            yield response.follow(link, meta={"playwright": True})


with Berth() as berth, berth.sessions.create() as session:
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    process = CrawlerProcess(
        {
            "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
            "LOG_LEVEL": "WARNING",
            "PLAYWRIGHT_CDP_URL": session.connect().cdp_url,
            "TELNETCONSOLE_ENABLED": False,
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        }
    )
    process.crawl(Pages)
    process.start()
    assert titles[0], titles
    assert site.startswith("https://example") or titles == ["Home", "Second"], titles
