import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, getSession, listAllSessions, listSessions } from '@berth/contract';
import puppeteer from 'puppeteer-core';
import type { Client } from '../../client.ts';
import { connectPlaywright } from '../playwright.ts';
import { Service, eventually, lastingState, testRuntime } from '../service.ts';

/** A program with Playwright that marks the page and then hangs, to be killed. */
const marks = `
  import { chromium } from 'playwright-core';
  const browser = await chromium.connectOverCDP(process.argv[1]);
  await browser.contexts()[0].pages()[0].evaluate(() => { globalThis.mark = 'left by the first'; });
  console.log('marked');
  setInterval(() => undefined, 1000);
`;

describe('clients that come back to their address', () => {
  let state: Awaited<ReturnType<typeof lastingState>>;
  let service: Service;
  let client: Client;
  const start = async (): Promise<void> => {
    service = await Service.start({ dataDir: state.dataDir, environment: { ...state.environment, BERTH_POOL_TARGET: '1' } });
    client = service.client;
  };
  before(async () => {
    state = await lastingState();
    await start();
  });
  after(async () => {
    await service.close();
    await state.remove();
  });

  const live = async () => (await client.call(listSessions, { query: { status: 'starting,ready' } })).body;
  const newAddress = async (name: string, seconds = 600): Promise<{ ws: string; http: string }> => {
    const { body } = await client.call(createConnectToken, { body: { name, reconnect_seconds: seconds } });
    return { ws: body.cdp_url ?? '', http: body.cdp_http_url ?? '' };
  };
  const readMark = '() => globalThis.mark';

  it('Playwright finds its page again after its process was killed', async () => {
    const { ws } = await newAddress('playwright');
    const child = spawn(process.execPath, ['--input-type=module', '--eval', marks, ws], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const browser = await connectPlaywright(ws);
    assert.equal(await browser.contexts()[0]?.pages()[0]?.evaluate(`(${readMark})()`), 'left by the first');
    await browser.close();
    assert.equal((await live()).length, 1);
  });

  it('Puppeteer finds its page again by its address, and by the one that discovery returns', async () => {
    const { ws, http } = await newAddress('puppeteer');
    const connected = { defaultViewport: null };
    const first = await puppeteer.connect({ browserWSEndpoint: ws, ...connected });
    await (await first.pages())[0]?.evaluate('globalThis.mark = "left by the first"');
    await first.disconnect();
    const { webSocketDebuggerUrl } = (await (await fetch(`${http}/json/version`)).json()) as { webSocketDebuggerUrl: string };
    const again = await puppeteer.connect({ browserWSEndpoint: webSocketDebuggerUrl, ...connected });
    assert.equal(await (await again.pages())[0]?.evaluate(`(${readMark})()`), 'left by the first');
    // Ends the browser, and so the next is a new one.
    await again.close();
    const fresh = await puppeteer.connect({ browserWSEndpoint: ws, ...connected });
    assert.equal(await (await fresh.pages())[0]?.evaluate(`(${readMark})()`), undefined);
    await fresh.close();
  });

  it('a browser that waits ends with its time', async () => {
    const { ws } = await newAddress('short', 1);
    const before = (await live()).map(({ session_id }) => session_id);
    const browser = await connectPlaywright(ws);
    const session = (await live()).find(({ session_id }) => !before.includes(session_id));
    await browser.close();
    const ended = await eventually('it has ended', async () => {
      const { body } = await client.call(getSession, { params: { session_id: session?.session_id ?? '' } });
      return body.status === 'ended' && body;
    });
    assert.equal(ended.ended_reason, 'cdp_closed');
  });

  it('a worker that is killed leaves no browser behind, and the address leads to a new one', async () => {
    const { ws } = await newAddress('killed');
    const first = await connectPlaywright(ws);
    const waiting = (await client.call(listAllSessions, { query: { status: 'ready' } })).body;
    const pids = waiting.flatMap(({ pid }) => pid ?? []);
    await service.stop('SIGKILL');
    await first.close().catch(() => undefined);
    if (testRuntime === 'process')
      await eventually('the browsers are gone', () => pids.length > 0 && !pids.some((pid) => existsSync(`/proc/${pid}`)));
    await start();
    const again = await connectPlaywright(ws.replace(/:\d+/, `:${new URL(service.url).port}`));
    assert.equal(await again.contexts()[0]?.pages()[0]?.evaluate(`(${readMark})()`), undefined);
    for (const { session_id } of waiting)
      await eventually(`the session ${session_id} has ended`, async () => {
        const { body } = await client.call(getSession, { params: { session_id } });
        return body.status === 'ended' && body.ended_reason === 'worker_lost';
      });
    assert.equal((await live()).length, 1);
    await again.close();
  });
});
