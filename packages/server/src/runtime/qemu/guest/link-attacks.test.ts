import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../../testing/machines.ts';
import { attacks } from './attacks.fixture.ts';
import { agent, attackedLink, hello, newLink } from './link.fixture.ts';
import type { LinkUnderTest } from './link.fixture.ts';
import type { GuestLink } from './link.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Factors for timeouts: tenths of a second, or long enough to play no part. */
const quick = 0.05;
const slow = 10;
const closeMsMax = 10_000;
/** Garbage that is not collected at once. The floods send gigabytes. */
const growthBytesMax = 128 * 1024 ** 2;
const leftBytesMax = 16 * 1024 ** 2;
/** Longest wait of a neighbour for a short answer during an attack. */
const neighbourMsMax = 1000;
const signal = new AbortController().signal;

/** What the service does during an attack. */
type Work = (link: GuestLink) => Promise<unknown>;
const asks: Work = (link) => link.hello({ signal });
const listens: Work = async (link) => (await link.openDevtools()).resume();
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
    it(`is disconnected without effect on others when it ${name}`, async () => {
      const { link, close } = await attackedLink(name, {
        slowdown: name.startsWith('egress') ? slow : quick,
        acceptEgress: (connection) => name.endsWith('dropped') && connection.destroy(),
      });
      let why: string | undefined;
      void link.closed.then((reason) => (why = reason));
      const work = (name.startsWith('egress') ? Promise.resolve() : (meanwhile[name] ?? asks)(link)).catch(() => {});
      const deadline = performance.now() + closeMsMax;
      const { growthBytes, slowestMs } = await watch(() => why !== undefined || performance.now() > deadline);
      await close();
      await work;
      assert.notEqual(why, undefined);
      assert.notEqual(why, 'closed');
      assert.ok(growthBytes < growthBytesMax, `${growthBytes} bytes more`);
      assert.ok(slowestMs < neighbourMsMax, `a neighbour waited for ${slowestMs} ms`);
    });
  }

  it('leaves nothing of itself in our memory', async () => {
    await until(() => heapBytes() - bytesAtFirst < leftBytesMax, 5000);
  });
});

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
