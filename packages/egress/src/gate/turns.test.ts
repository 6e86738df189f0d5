import { Readable, Writable } from 'node:stream';
import { once } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { GateTurns } from './turns.ts';

/** A chunk as large as one read of a busy socket, so that the next read waits until it is passed on. */
const chunk = Buffer.alloc(64 * 1024);

function endless(): { source: Readable; produced: () => number } {
  let produced = 0;
  const source = new Readable({
    read() {
      produced += 1;
      this.push(chunk);
    },
  });
  return { source, produced: () => produced };
}

function sink(onWrite: (data: Buffer) => void): Writable {
  return new Writable({
    write(data: Buffer, _encoding, done) {
      onWrite(data);
      done();
    },
  });
}

const spin = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

/** Runs until so many chunks were written, then stops all sources. */
async function untilWritten(count: number, sources: readonly Readable[], written: () => number): Promise<void> {
  while (written() < count) await new Promise((resolve) => setImmediate(resolve));
  for (const source of sources) source.destroy();
}

test('a turn of the event loop passes on no more than its share, however many pages download', async () => {
  const turns = new GateTurns();
  let turn = 0;
  let isCounting = true;
  const count = (): void => {
    turn += 1;
    if (isCounting) setImmediate(count);
  };
  count();
  const turnOfWrite: number[] = [];
  const sources = Array.from({ length: 40 }, () => endless().source);
  const machines = [turns.machine(), turns.machine()];
  for (const [i, source] of sources.entries()) {
    // A write that takes longer than a whole share.
    const slow = sink(() => {
      turnOfWrite.push(turn);
      spin(1);
    });
    machines[i % machines.length]?.pipe(source, slow);
  }
  await untilWritten(100, sources, () => turnOfWrite.length);
  isCounting = false;
  const writesByTurn = Map.groupBy(turnOfWrite, (each) => each);
  assert.ok([...writesByTurn.values()].every((writes) => writes.length === 1));
});

test('machines get turns, whatever one of them downloads', async () => {
  const turns = new GateTurns();
  const [greedy, modest] = [turns.machine(), turns.machine()];
  const order: string[] = [];
  const machines = [...Array.from({ length: 40 }, () => ({ machine: greedy, name: 'greedy' })), { machine: modest, name: 'modest' }];
  const sources = machines.map(({ machine, name }) => {
    const { source } = endless();
    machine.pipe(
      source,
      sink(() => {
        order.push(name);
        spin(0.1);
      }),
    );
    return source;
  });
  await untilWritten(400, sources, () => order.length);
  const share = order.slice(100, 300).filter((name) => name === 'modest').length / 200;
  assert.ok(share > 0.4 && share < 0.6, `share of the modest one: ${share}`);
});

test('a source is read only when it is its turn', async () => {
  const turns = new GateTurns();
  const machine = turns.machine();
  const all = Array.from({ length: 20 }, endless);
  let written = 0;
  for (const { source } of all)
    machine.pipe(
      source,
      sink(({ length }) => {
        written += length / chunk.length;
        spin(0.6);
      }),
    );
  const sources = all.map(({ source }) => source);
  await untilWritten(60, sources, () => written);
  const produced = all.reduce((sum, each) => sum + each.produced(), 0);
  assert.ok(produced <= written + 2 * all.length, `${produced} chunks were read for ${written} that were passed on`);
});

test('small pieces are passed on together, and the end after them', async () => {
  const writes: Buffer[] = [];
  const pieces = Array.from({ length: 1000 }, (_, i) => Buffer.from(String(i % 10)));
  const source = new Readable({ read() {} });
  for (const piece of pieces) source.push(piece);
  source.push(null);
  const target = sink((data) => writes.push(data));
  new GateTurns().machine().pipe(source, target);
  await once(target, 'finish');
  assert.deepEqual(Buffer.concat(writes), Buffer.concat(pieces));
  assert.ok(writes.length <= 2, `${writes.length} writes`);
});

test('a full sink is waited for without keeping others waiting', async () => {
  const machine = new GateTurns().machine();
  const [stuck, other] = [endless(), endless()];
  let written = 0;
  machine.pipe(stuck.source, new Writable({ write() {} }));
  machine.pipe(
    other.source,
    sink(() => (written += 1)),
  );
  await untilWritten(50, [stuck.source, other.source], () => written);
  assert.ok(stuck.produced() <= 3, `${stuck.produced()} chunks for a sink that takes none`);
});

test('a sink fails with its source, and a source with its sink', async () => {
  const machine = new GateTurns().machine();
  const [cut, target] = [endless().source, sink(() => {})];
  const brokenSource = machine.pipeline(cut, target);
  cut.destroy();
  await brokenSource;
  assert.ok(target.destroyed && !target.writableFinished);

  const [source, full] = [endless().source, sink(() => {})];
  const brokenSink = machine.pipeline(source, full);
  full.destroy();
  await brokenSink;
  assert.ok(source.destroyed);
});
