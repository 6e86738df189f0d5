"""browser-use: the part that drives a browser, without a language model."""

import asyncio
import os

os.environ.setdefault("ANONYMIZED_TELEMETRY", "false")

from browser_use import BrowserSession

from berth import AsyncBerth

site = os.environ.get("SITE_URL", "https://example.com")


async def main() -> None:
    async with AsyncBerth() as berth, await berth.sessions.create() as session:
        browser = BrowserSession(cdp_url=(await session.connect()).cdp_url)
        await browser.start()
        try:
            await browser.navigate_to(f"{site}/")
            assert await browser.get_current_page_title()
            state = await browser.get_browser_state_summary(include_screenshot=False)
            # What a model would be shown of the page.
            assert "<a" in state.dom_state.llm_representation(), state
        finally:
            await browser.stop()
        assert (await session.tabs.list())[0].url.startswith(site)


asyncio.run(main())
