import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Directory, type Peer } from './directory.ts';

const peer = (workerId: string): Peer => ({ workerId, address: `${workerId}.test:8090`, isSilent: false });

/** Its reads are answered one by one, with the rows that the test gives. */
function build(): { directory: Directory; answers: ((peers: Peer[]) => void)[] } {
  const answers: ((peers: Peer[]) => void)[] = [];
  const readPeers = () => new Promise<Peer[]>((resolve) => answers.push(resolve));
  return { directory: new Directory({ readPeers }), answers };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the address of a worker that has just started', () => {
  it('the address of a worker that has just started is read again, by a read that began after the question', async () => {
    const { directory, answers } = build();
    const asked = directory.addressOf('wrk_old');
    const address = directory.currentAddressOf('wrk_new');
    await turn();
    // The read that was under way is older than the worker.
    answers.shift()?.([peer('wrk_old')]);
    assert.equal(await asked, 'wrk_old.test:8090');
    await turn();
    answers.shift()?.([peer('wrk_old'), peer('wrk_new')]);
    assert.equal(await address, 'wrk_new.test:8090');
  });

  it('the address of a worker that has just started is read again after another read that came in between', async () => {
    const { directory, answers } = build();
    const first = directory.addressOf('wrk_old');
    answers.shift()?.([peer('wrk_old')]);
    await first;
    const address = directory.currentAddressOf('wrk_new');
    directory.watch.nudge();
    answers.shift()?.([peer('wrk_old')]);
    await directory.watch.idle();
    while (answers.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    answers.shift()?.([peer('wrk_old'), peer('wrk_new')]);
    assert.equal(await address, 'wrk_new.test:8090');
  });
});
