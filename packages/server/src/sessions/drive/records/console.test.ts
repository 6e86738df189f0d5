import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ConsoleEntry } from '@berth/devtools';
import { systemClock } from '@berth/lib/clock.ts';
import { Consoles } from './console.ts';

/** A browser whose pages report their lines from when the test says so. */
function startSource() {
  const listening = Promise.withResolvers<void>();
  const listeners: ((entry: ConsoleEntry) => void)[] = [];
  const browser = {
    onConsole: (listener: (entry: ConsoleEntry) => void) => (listeners.push(listener), () => undefined),
    consoleListening: () => listening.promise,
  };
  const log = (text: string): void =>
    listeners.forEach((listener) => listener({ tabId: 'tab', level: 'log', text, url: null, line: null }));
  return { browser, log, listen: listening.resolve };
}

describe('the console of a session', () => {
  it('the console of a session has its first reply when all pages report their lines, and from then on misses none', async () => {
    const { browser, log, listen } = startSource();
    const consoles = new Consoles(systemClock);
    const state = { isAnswered: false };
    const first = consoles.after(browser, 0).finally(() => (state.isAnswered = true));
    for (let turns = 0; turns < 10; turns += 1) await turn();
    assert.equal(state.isAnswered, false);
    listen();
    assert.deepEqual(await first, []);
    log('hello');
    const [line] = await consoles.after(browser, 0);
    assert.equal(line?.text, 'hello');
  });

  it('the console of a session has a reply although a page hangs', { timeout: 30_000 }, async () => {
    const { browser, log } = startSource();
    const reply = new Consoles(systemClock).after(browser, 0);
    log('of another page');
    assert.deepEqual(
      (await reply).map(({ text }) => text),
      ['of another page'],
    );
  });
});
