/** Floods of one session, from either side of its pipe, take turns with everything else. */
import assert from 'node:assert/strict';
import { PassThrough, duplexPair, type Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import { nextTurn } from '@berth/lib/turns/turn-budget.ts';
import { TimeoutScale } from '../timeout-scale.ts';
import { Connection } from './connection.ts';
import { Multiplexer } from './multiplexer.ts';
import { FrameSplitter, Pipe } from './pipe.ts';

const frames = 5000;
/** Maximum messages of one turn: each takes a third of the time that a flood may take of it. */
const worksMax = 20;
let works = 0;

/** The cost of one message: all of them together would stop the loop for half a second. */
function work(): void {
  works += 1;
  const startedMs = performance.now();
  while (performance.now() - startedMs < 0.1);
}

async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isDone())) await nextTurn();
}

/** The most messages that one turn of the event loop took until the work is done. */
async function mostOfTurn(isDone: () => boolean): Promise<number> {
  let most = 0;
  for (let last = works; !isDone(); last = works) {
    await nextTurn();
    most = Math.max(most, works - last);
  }
  return most;
}

interface Command {
  id: number;
  method: string;
  sessionId?: string;
}

/** A browser, as far as the clients of a flood need one. `isAnswered`: whether it answers a client's command. */
function answer(pipe: Duplex, isAnswered: (command: Command) => boolean = () => true): { received: number } {
  const seen = { received: 0 };
  const splitter = new FrameSplitter();
  const reply = (message: object): boolean => pipe.write(`${JSON.stringify(message)}\0`);
  pipe.on('data', (chunk: Buffer) =>
    splitter.push(chunk, (frame) => {
      const command = JSON.parse(frame.toString()) as Command;
      const { id, method, sessionId } = command;
      if (method === 'Target.attachToBrowserTarget') reply({ id, result: { sessionId: String(id).padStart(32, 'A') } });
      else if (sessionId !== undefined) {
        seen.received += 1;
        if (isAnswered(command)) reply({ id, result: {}, sessionId });
      }
    }),
  );
  return seen;
}

const createMultiplexer = (pipe: Duplex, onActivity: () => void): Multiplexer =>
  new Multiplexer(new Connection(pipe, { log: silentLog, timeoutScale: new TimeoutScale() }), {
    log: silentLog,
    ruleContext: () => ({}) as never,
    onWatching: () => {},
    onDriving: () => {},
    onOpened: () => {},
    onWindowChanged: () => {},
    onActivity,
    onActivate: () => {},
    onClientClosed: () => {},
  });

describe('a flood', () => {
  it('a flood of the browser is read a little in each turn, in order', async () => {
    const stream = new PassThrough({ highWaterMark: 1024 * 1024 });
    const received: number[] = [];
    const onFrame = (frame: Buffer): void => {
      work();
      received.push(Number(frame.toString()));
    };
    const pipe = new Pipe(stream, { onFrame, onClose: () => {} });
    stream.write(Array.from({ length: frames }, (_, n) => `${n}\0`).join(''));
    const most = await mostOfTurn(() => received.length === frames);
    assert.ok(most <= worksMax, `${most} messages`);
    assert.deepEqual(received, [...Array(frames).keys()]);
    pipe.detach();
  });

  it('a flood of clients makes them wait, all of one session together', async () => {
    const [ours, theirs] = duplexPair();
    answer(theirs);
    const multiplexer = createMultiplexer(ours, work);
    const clients = await Promise.all([1, 2, 3].map(() => multiplexer.connect({ send: () => true, onClose: () => {} })));
    let left = clients.length;
    for (const client of clients)
      void (async () => {
        for (let id = 1; id <= frames / clients.length; id += 1) await client.receive(JSON.stringify({ id, method: 'Browser.getVersion' }));
        left -= 1;
      })();
    const most = await mostOfTurn(() => left === 0);
    assert.ok(most <= worksMax, `${most} messages`);
  });

  it('a flood that the browser does not answer goes on slowly, until it answers', async () => {
    const [ours, theirs] = duplexPair();
    let replies = '';
    const seen = answer(theirs, ({ id, sessionId }) => {
      replies += `${JSON.stringify({ id, result: {}, sessionId })}\0`;
      return false;
    });
    const client = await createMultiplexer(ours, () => {}).connect({ send: () => true, onClose: () => {} });
    let id = 0;
    /** Whether the client waits for longer than its turn. */
    const waits = async (): Promise<boolean> => {
      const room = client.receive(JSON.stringify({ id: (id += 1), method: 'Browser.getVersion' })) ?? Promise.resolve();
      return Promise.race([
        room.then(() => false),
        nextTurn()
          .then(nextTurn)
          .then(() => true),
      ]);
    };
    for (let n = 0; n < 1020; n += 1) assert.equal(await waits(), false);
    // On a busy machine the wait may be over before two turns are.
    let waited = false;
    for (let n = 0; n < 100 && !waited; n += 1) waited = await waits();
    assert.ok(waited);
    await client.receive(JSON.stringify({ id: (id += 1), method: 'Browser.getVersion' }));
    await until(() => seen.received === id);
    theirs.write(replies);
    await nextTurn();
    await until(async () => !(await waits()));
    assert.ok(id < 1200, `${id}`);
  });

  it('a flood that the browser does not read stops its clients, and does not end the browser', async () => {
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
