import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { delayBounds, describeDelay, measureLeastDelay } from '../../../../../../tests/hostile-text/delay.ts';
import { yardsticksOf } from '../../../../../../tests/yardstick.ts';
import { silentLog } from '@berth/lib/log.ts';
import { TimeoutScale } from '../../timeout-scale.ts';
import { parseMessage } from './client-message.ts';
import { Connection } from '../connection.ts';
import { parseLargeMessage } from './large-message.ts';
import { Multiplexer } from '../multiplexer.ts';
import { FrameSplitter } from '../pipe.ts';

const mebibyte = 1024 * 1024;
/** Others may wait this long in any case. A fast processor has a short yardstick, and moves 50 megabytes in no less time. */
const turnMs = 50;
const message = (params: string): Buffer => Buffer.from(`{"id":7,"method":"Runtime.evaluate","params":{"x":${params}}}`);

/** A client whose messages arrive as buffers here, as the browser would get them. */
async function connect() {
  const [ours, theirs] = duplexPair();
  const frames: Buffer[] = [];
  const refusals: string[] = [];
  const splitter = new FrameSplitter();
  theirs.on('data', (chunk: Buffer) =>
    splitter.push(chunk, (frame) => {
      if (frame.length > 1000 || !frame.includes('Target.attachToBrowserTarget')) frames.push(frame);
      else theirs.write(`${JSON.stringify({ id: 1, result: { sessionId: 'A'.repeat(32) } })}\0`);
    }),
  );
  const multiplexer = new Multiplexer(new Connection(ours, { log: silentLog, timeoutScale: new TimeoutScale() }), {
    log: silentLog,
    ruleContext: () => ({}) as never,
    onWatching: () => {},
    onDriving: () => {},
    onOpened: () => {},
    onWindowChanged: () => {},
    onActivity: () => {},
    onActivate: () => {},
    onClientClosed: () => {},
  });
  const send = (text: string | Buffer): void => void refusals.push(text.toString());
  const client = await multiplexer.connect({ send, onClose: () => {} });
  return { client, frames, refusals };
}

describe('a message of many megabytes', () => {
  const hostile: Record<string, () => string> = {
    'empty arrays': () => `[${'[],'.repeat(8 * mebibyte)}1]`,
    numbers: () => `[${'1,'.repeat(15 * mebibyte)}1]`,
    'empty objects': () => `[${'{},'.repeat(8 * mebibyte)}1]`,
    keys: () => `{${Array.from({ length: mebibyte }, (_, n) => `"k${n}":1`).join()}}`,
    'values after a string of quotes': () => `["${'\\"\\\\'.repeat(mebibyte)}",${'1,'.repeat(mebibyte)}1]`,
  };
  for (const [name, make] of Object.entries(hostile))
    it(`a message of many megabytes of ${name} is refused before it is parsed`, async () => {
      const raw = message(make());
      const yardsticks = await yardsticksOf(async () =>
        assert.deepEqual(await parseLargeMessage(raw), { id: 7, code: -32600, message: 'Message has more than 200000 values' }),
      );
      // Parsed, the larger ones take hundreds, and two gigabytes.
      assert.ok(yardsticks < 100, `${yardsticks} yardsticks`);
    });

  it('a message of many megabytes is refused where what is to be parsed is too long', async () => {
    const texts = JSON.stringify(Array<string>(10_000).fill('x'.repeat(4000)));
    const refused = await parseLargeMessage(message(texts));
    assert.ok('code' in refused && refused.id === 7, JSON.stringify(refused));
    assert.match(refused.message, /beside its long texts/);
  });

  it('a message of many megabytes of text passes byte by byte, whatever the text contains', async () => {
    const texts = ['[{,'.repeat(mebibyte), '"\\'.repeat(mebibyte), 'é😀\u0000\n,'.repeat(mebibyte / 4), '\ud800'.repeat(mebibyte)];
    const { client, frames } = await connect();
    for (const text of texts) {
      const sent = { id: 7, method: 'Runtime.evaluate', params: { [text.slice(0, 9000)]: [text, 'short'], expression: text } };
      await client.receive(Buffer.from(JSON.stringify(sent)));
      const received = JSON.parse(frames.pop()?.toString() ?? '') as object;
      assert.deepEqual(received, { ...sent, sessionId: 'A'.repeat(32) });
    }
  });

  it('a message of many megabytes passes with as many values as an argument of a script has', async () => {
    const values = Array.from({ length: 150_000 }, (_, n) => n);
    const parsed = await parseLargeMessage(message(JSON.stringify(values)));
    assert.ok('params' in parsed && Array.isArray(parsed.params['x']) && parsed.params['x'].length === values.length);
  });

  it('a message with a very long address is held to the rules', async () => {
    const { client, frames, refusals } = await connect();
    const long = 'x'.repeat(mebibyte);
    const spaces = ' '.repeat(mebibyte);
    const send = (method: string, params: object) => client.receive(Buffer.from(JSON.stringify({ id: 1, method, params })));
    for (const url of [`file:///etc/${long}`, `${spaces}file:///etc/passwd`, `chrome://settings/${long}`, 'x'.repeat(5 * mebibyte)]) {
      await send('Page.navigate', { url });
      await send('Network.setCookie', { url, name: 'a', value: 'b' });
    }
    assert.deepEqual([frames.length, refusals.length], [0, 8], refusals.map((each) => each.slice(0, 100)).join());
    await send('Page.navigate', { url: `data:text/html,${long}` });
    assert.equal((JSON.parse(frames.pop()?.toString() ?? '') as { params: { url: string } }).params.url.length, long.length + 15);
  });

  it('a message of many megabytes with an invalid text is no JSON', async () => {
    for (const text of [
      `${'x'.repeat(mebibyte)}\0`,
      `\n${'x'.repeat(mebibyte)}`,
      `\\x${'x'.repeat(mebibyte)}`,
      'x'.repeat(mebibyte).slice(1) + '\\',
    ])
      assert.deepEqual(
        await parseLargeMessage(message(`"${text}"`)),
        text.endsWith('\\') ? parseMessage('{') : { id: 7, code: -32700, message: 'JSON: the message cannot be parsed' },
      );
    // A byte that begins a longer character does not hide the end of its text.
    const raw = Buffer.concat([
      Buffer.from('{"id":7,"method":"a","params":{"x":"'),
      Buffer.alloc(mebibyte, 0xe0),
      Buffer.from('","url":"b"}}'),
    ]);
    const parsed = await parseLargeMessage(raw);
    assert.ok('params' in parsed && parsed.params['url'] === 'b');
    assert.ok(JSON.parse(parsed.texts?.fill(JSON.stringify(parsed.params)).join('') ?? ''));
  });

  const large: Record<string, () => string> = {
    'one text': () => JSON.stringify('x'.repeat(50 * mebibyte)),
    'a text of quotes': () => `"${'\\"'.repeat(25 * mebibyte)}"`,
    'thousands of texts': () => JSON.stringify(Array<string>(10_000).fill('x'.repeat(5000))),
    'short texts': () => JSON.stringify(Array<string>(150_000).fill('x'.repeat(100))),
  };
  for (const [name, make] of Object.entries(large))
    it(`a message of many megabytes with ${name} does not hold up others while it passes`, async () => {
      const { client, frames } = await connect();
      const raw = message(make());
      const delay = await measureLeastDelay(async () => client.receive(raw));
      assert.ok(frames.length > 0);
      assert.ok(delay.max <= Math.max(delayBounds.p999, turnMs / delay.yardstickMs), describeDelay(delay));
    });
});
