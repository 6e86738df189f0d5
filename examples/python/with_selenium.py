"""Selenium: ChromeDriver takes a host and a port, which `berth forward` opens on this computer."""

import os
import shutil
from urllib.parse import quote

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

html = """<!doctype html><title>Example</title>
<input id="name" aria-label="Name">
<button onclick="document.title = 'Hello ' + document.getElementById('name').value">Greet</button>"""
page_url = os.environ.get("PAGE_URL", f"data:text/html,{quote(html)}")

# In another terminal: berth forward 9222
options = webdriver.ChromeOptions()
options.debugger_address = os.environ.get("DEBUGGER_ADDRESS", "127.0.0.1:9222")
# The ChromeDriver of this computer, of the same major version as the service's Chromium.
service = Service(shutil.which("chromedriver"))

with webdriver.Chrome(options=options, service=service) as driver:
    driver.get(page_url)
    driver.find_element(By.ID, "name").send_keys("Ada")
    driver.find_element(By.TAG_NAME, "button").click()
    WebDriverWait(driver, 10).until(lambda each: each.title == "Hello Ada")

    driver.switch_to.new_window("tab")
    driver.get(page_url)
    assert len(driver.window_handles) == 2
    assert len(driver.get_screenshot_as_png()) > 1000
    driver.close()
