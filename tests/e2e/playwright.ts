/** Playwright, connected to a session. */
import { chromium, type Browser } from 'playwright-core';
import { knownSlowness } from '../yardstick.ts';
import { pageMs } from './service.ts';

/** Playwright gives up after half a minute, which an emulated or slow machine may take to start, or for a page. */
const timeoutMs = pageMs(30_000) * knownSlowness;

export async function connectPlaywright(address: string, options: { headers?: Record<string, string> } = {}): Promise<Browser> {
  const browser = await chromium.connectOverCDP(address, { ...options, timeout: timeoutMs });
  for (const context of browser.contexts()) context.setDefaultTimeout(timeoutMs);
  return browser;
}
