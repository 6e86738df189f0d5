/** Helpers for tests of the page layer. */
import assert from 'node:assert/strict';
import { PageError, type Browser } from '../src/browser/browser.ts';
import type { CallOptions, ElementRef, Page } from '../src/browser/page/page.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';

export const call = (): CallOptions => ({ signal: AbortSignal.timeout(100_000), timeoutMs: 20_000 });

/** A validation for `assert.rejects` that the error has this reason; otherwise says which one it has. */
export const fails =
  (reason: PageError['reason']) =>
  (error: unknown): true => {
    if (!(error instanceof PageError)) throw error;
    assert.equal(error.reason, reason, error.message);
    return true;
  };

/** A new tab's page, alone in the browser. */
export async function freshPage(browser: Browser): Promise<Page> {
  const { tabId } = await browser.openTab({ active: true, ...call() });
  for (const tab of browser.tabs()) if (tab.tabId !== tabId) await browser.closeTab(tab.tabId, call());
  return browser.page(tabId);
}

export async function elementIn(page: Page, frameId: string, selector: string): Promise<ElementRef> {
  const [element] = await page.find(frameId, '(s) => document.querySelector(s)', [selector], call());
  assert.ok(element, selector);
  return element;
}

export async function frameNamed(page: Page, name: string): Promise<string> {
  const frame = (await page.frames(call())).find((each) => each.name === name);
  assert.ok(frame, name);
  return frame.id;
}

/** Polls until the condition holds; fails after `limitMs`, or later where the machine is slower. */
export async function until(what: () => boolean | Promise<boolean>, limitMs = 20_000): Promise<void> {
  await eventually(String(what), what, limitMs);
}
