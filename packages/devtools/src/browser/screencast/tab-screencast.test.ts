import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog } from '@berth/lib/log.ts';
import { Connection } from '../cdp/connection.ts';
import { FrameSplitter } from '../cdp/pipe.ts';
import type { Tab } from '../tabs/tab.ts';
import { until } from '../../../testing/on-page.ts';
import { TimeoutScale } from '../timeout-scale.ts';
import { TabScreencast } from './tab-screencast.ts';

const sessionId = 'A'.repeat(32);
const newTab = (): Tab => ({ id: 'T', sessionId, status: 'complete', closed: new AbortController() }) as unknown as Tab;

/** A screencast whose browser is the test. */
function startScreencast(tab = newTab()) {
  const [ours, browser] = duplexPair();
  const methods: string[] = [];
  const splitter = new FrameSplitter();
  browser.on('data', (chunk: Buffer) =>
    splitter.push(chunk, (frame) => void methods.push((JSON.parse(frame.toString()) as { method: string }).method)),
  );
  browser.write(`${JSON.stringify({ method: 'Target.attachedToTarget', params: { sessionId } })}\0`);
  const connection = new Connection(ours, { log: silentLog, timeoutScale: new TimeoutScale() });
  const size = { maxWidth: 100, maxHeight: 100, quality: 50 };
  let frames = 0;
  const screencast = new TabScreencast({ connection, tab, size, framesPerSecond: 25, onFrame: () => (frames += 1) });
  /** Sends a frame that was drawn at this time for the start of this number, and waits until it has arrived. */
  const draw = async (timestampMs: number, start = 1): Promise<void> => {
    const metadata = { timestamp: timestampMs / 1000, deviceWidth: 100, deviceHeight: 100, pageScaleFactor: 1 };
    const params = { sessionId: start, data: '', metadata };
    const before = frames;
    browser.write(`${JSON.stringify({ method: 'Page.screencastFrame', params, sessionId })}\0`);
    await until(() => frames > before);
  };
  const starts = (): number => methods.filter((method) => method === 'Page.startScreencast').length;
  const end = (): void => {
    screencast.end();
    connection.end('closed');
  };
  return { draw, starts, end };
}

describe('the screencast of a tab', () => {
  it('the screencast of a tab asks once more for the picture after frames that were drawn together and arrived apart', async () => {
    const { draw, starts, end } = startScreencast();
    const startMs = Date.now();
    await draw(startMs);
    await sleep(400);
    // The browser has dropped what it drew after this one: both were in flight.
    await draw(startMs + 50);
    await until(() => starts() === 2);
    end();
  });

  it('the screencast of a tab waits longer each time for a late first frame, which a restart would drop', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { starts, end } = startScreencast();
    const startedAfter: number[] = [];
    for (let seconds = 0; seconds <= 25; seconds += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      while (startedAfter.length < starts()) startedAfter.push(seconds);
      t.mock.timers.tick(1000);
    }
    assert.deepEqual(startedAfter, [0, 1, 3, 7, 15, 23]);
    end();
  });

  it('the screencast of a tab waits for its own first frame, not for one that was on its way when it started', async (t) => {
    const tab = newTab();
    const before = startScreencast(tab);
    await before.draw(Date.now());
    before.end();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { draw, starts, end } = startScreencast(tab);
    await draw(Date.now(), 1);
    t.mock.timers.tick(1000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(starts(), 2);
    await draw(Date.now(), 3);
    t.mock.timers.tick(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(starts(), 2);
    end();
  });

  it('the screencast of a tab does not ask again after frames that were drawn apart and arrived apart', async () => {
    const { draw, starts, end } = startScreencast();
    const startMs = Date.now();
    await draw(startMs);
    await sleep(400);
    await draw(startMs + 2000);
    await sleep(600);
    assert.equal(starts(), 1);
    end();
  });
});
