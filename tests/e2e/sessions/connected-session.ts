/** A session with a Playwright client in it. */
import { connectSession, createSession, endSession, type SessionResponse } from '@berth/contract';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import type { Client } from '../../harness.ts';

export interface ConnectedSession {
  session: SessionResponse;
  params: { session_id: string };
  browser: Browser;
  /** The session's own context and first page. */
  context: BrowserContext;
  page: Page;
  /** Disconnects the client and ends the session. */
  end(): Promise<void>;
}

export async function connectToSession(client: Client, body: object = {}): Promise<ConnectedSession> {
  const { body: session, status, text } = await client.call(createSession, { body });
  if (status !== 201) throw new Error(`no session: ${text}`);
  const params = { session_id: session.session_id };
  const { body: info } = await client.call(connectSession, { params });
  const browser = await chromium.connectOverCDP(info.cdp_url);
  const [context] = browser.contexts();
  const page = context?.pages()[0];
  if (!context || !page) throw new Error('the session has no page');
  const end = async (): Promise<void> => {
    await browser.close();
    await client.call(endSession, { params });
  };
  return { session, params, browser, context, page, end };
}
