import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../../../testing/machines.ts';
import { attacks } from '../../../testing/guest/attacks.ts';
import { agent, attackedLink, hello, newLink, type LinkUnderTest } from '../../../testing/guest/link.ts';
import type { GuestLink } from './link.ts';
import { assertShort } from '../../../../../tests/yardstick.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Factors for timeouts: tenths of a second, or long enough to play no part. */
const quick = 0.05;
const slow = 10;
const closeMsMax = 60_000;
/** Garbage that is not collected at once. The floods send gigabytes. */
const growthBytesMax = 128 * 1024 ** 2;
const leftBytesMax = 16 * 1024 ** 2;
/** Longest wait of a neighbour for a short answer during an attack. */
const neighbourMsMax = 5000;
const signal = new AbortController().signal;

/** Attacks that are cut off for their rate, and the rate: connections or bytes a second. */
const rateLimits: Record<string, number> = {
  'egress: opens one after the other, as fast as they are dropped': 1000,
  'says byte after byte to somebody who listens': 100_000,
};

/** What the service does during an attack. `count`: called with the bytes that it gets. */
type Work = (link: GuestLink, count: (bytes: number) => void) => Promise<unknown>;
const asks: Work = (link) => link.hello({ signal });
const listens: Work = async (link, count) => (await link.openDevtools()).on('data', (chunk: Buffer) => count(chunk.length));
const speaks: Work = async (link) => (await link.openDevtools()).write(Buffer.alloc(32 * 1024 ** 2));
const meanwhile: Record<string, Work> = {
  'takes its window away': (link) => link.files.put('file_1', 'a', Buffer.alloc(1024)),
  'stops reading': speaks,
  'leaves unread what is said to the browser': speaks,
  'says byte after byte to somebody who does not listen': (link) => link.openDevtools(),
  'says byte after byte to somebody who listens': listens,
  'keeps reads alive by single bytes': (link) => link.openDevtools(),
};

describe('a compromised machine', () => {
  let neighbour: LinkUnderTest;
  let bytesAtFirst = 0;
  before(async () => {
    bytesAtFirst = heapBytes();
    neighbour = await newLink();
    agent(neighbour.control, (stream) => {
      stream.respond({ ':status': 200 });
      stream.end(hello);
    });
  });
  after(() => neighbour.close());

  /** Measures this process and the neighbour until `isOver`. */
  async function watch(isOver: () => boolean): Promise<{ growthBytes: number; slowestMs: number }> {
    const atFirst = process.memoryUsage.rss();
    const seen = { growthBytes: 0, slowestMs: 0 };
    while (!isOver()) {
      const askedMs = performance.now();
      await neighbour.link.hello({ signal });
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - askedMs);
      seen.growthBytes = Math.max(seen.growthBytes, process.memoryUsage.rss() - atFirst);
      await sleep(5);
    }
    return seen;
  }

  for (const name of Object.keys(attacks)) {
    it(`a compromised machine is disconnected without effect on others when it ${name}`, async (t) => {
      let received = 0;
      const count = (units: number): void => void (received += units);
      const { link, close } = await attackedLink(name, {
        slowdown: name.startsWith('egress') ? slow : quick,
        acceptEgress: (connection) => {
          count(1);
          if (name.endsWith('dropped')) connection.destroy();
        },
      });
      let why: string | undefined;
      void link.closed.then((reason) => (why = reason));
      const work = (name.startsWith('egress') ? Promise.resolve() : (meanwhile[name] ?? asks)(link, count)).catch(() => {});
      const startMs = performance.now();
      const deadline = startMs + closeMsMax;
      const { growthBytes, slowestMs } = await watch(() => why !== undefined || performance.now() > deadline);
      const isTooSlow = (received * 1000) / (performance.now() - startMs) < (rateLimits[name] ?? 0);
      const isConnected = why === undefined;
      await close();
      await work;
      if (isConnected && isTooSlow) return t.skip('the machine is too busy for this attack');
      assert.notEqual(why, undefined);
      assert.notEqual(why, 'closed');
      assert.ok(growthBytes < growthBytesMax, `${growthBytes} bytes more`);
      assertShort(slowestMs, neighbourMsMax, 'a neighbour waited');
    });
  }

  it("a compromised machine leaves nothing of itself in the service's memory", async () => {
    await until(() => heapBytes() - bytesAtFirst < leftBytesMax, 20_000);
  });
});

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
