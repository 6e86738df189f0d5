/** Floods of one session, from either side of its pipe, take turns with everything else. */
import assert from 'node:assert/strict';
import { PassThrough, duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { silentLog } from '../../lib/log.ts';
import { TimeoutScale } from '../timeout-scale.ts';
import { Connection } from './connection.ts';
import { Multiplexer } from './multiplexer.ts';
import { Pipe } from './pipe.ts';

const frames = 5000;
/** What a message costs: together they would stop the loop for half a second. */
function work(): void {
  const startedMs = performance.now();
  while (performance.now() - startedMs < 0.1);
}

/** The longest that the event loop stood still until the work is done. */
async function longestTurnMs(isDone: () => boolean): Promise<number> {
  let longestMs = 0;
  for (let lastMs = performance.now(); !isDone();) {
    await new Promise((resolve) => setImmediate(resolve));
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }
  return longestMs;
}

describe('a flood', () => {
  it('of the browser is read a little in each turn, in order', async () => {
    const stream = new PassThrough({ highWaterMark: 1024 * 1024 });
    const received: number[] = [];
    const onFrame = (frame: Buffer): void => {
      work();
      received.push(Number(frame.toString()));
    };
    const pipe = new Pipe(stream, { onFrame, onClose: () => {} });
    stream.write(Array.from({ length: frames }, (_, n) => `${n}\0`).join(''));
    assert.ok((await longestTurnMs(() => received.length === frames)) < 250);
    assert.deepEqual(received, [...Array(frames).keys()]);
    pipe.detach();
  });

  it('of clients asks them to wait, all of one session together', async () => {
    const [ours, theirs] = duplexPair();
    theirs.on('data', (chunk: Buffer) => {
      const { id, method } = JSON.parse(chunk.subarray(0, -1).toString()) as { id: number; method: string };
      if (method === 'Target.attachToBrowserTarget')
        theirs.write(`${JSON.stringify({ id, result: { sessionId: String(id).padStart(32, 'A') } })}\0`);
    });
    const connection = new Connection(ours, { log: silentLog, timeoutScale: new TimeoutScale() });
    const multiplexer = new Multiplexer(connection, {
      log: silentLog,
      ruleContext: () => ({}) as never,
      onWatching: () => {},
      onWindowChanged: () => {},
      onActivity: work,
      onActivate: () => {},
      onClientClosed: () => {},
    });
    const clients = await Promise.all([1, 2, 3].map(() => multiplexer.connect({ send: () => true, onClose: () => {} })));
    let left = clients.length;
    for (const client of clients)
      void (async () => {
        for (let id = 1; id <= frames / clients.length; id += 1) await client.receive(JSON.stringify({ id, method: 'Browser.getVersion' }));
        left -= 1;
      })();
    assert.ok((await longestTurnMs(() => left === 0)) < 250);
  });

  it('that the browser does not read stops its clients, and does not end the browser', async () => {
    const [ours, theirs] = duplexPair();
    const connection = new Connection(ours, { log: silentLog, timeoutScale: new TimeoutScale() });
    assert.equal(connection.drained(), undefined);
    let sent = 0;
    while (!connection.drained()) connection.forward('x'.repeat((sent += 1) && 1024 * 1024));
    assert.ok(sent < 20, `${sent} MiB are queued`);
    const drained = connection.drained();
    theirs.resume();
    await drained;
    assert.equal(connection.drained(), undefined);
  });
});
