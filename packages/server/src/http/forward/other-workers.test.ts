import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError, openConnect } from '@berth/contract';
import type { Exchange } from '../server/exchange.ts';
import type { ForwardTarget, Forwarder } from './forward.ts';
import { OtherWorkers } from './other-workers.ts';

const noCapacity = (): ServiceError => new ServiceError('no_capacity', 'The browser of this address runs on another worker.');
const to = (workerId: string, sessionId: string | null = null): ForwardTarget => ({ workerId, sessionId });

/** Asks worker `a`, whose answers by worker are these, and which finds these workers, one list after another. Resolves with who was asked. */
async function ask(found: (ForwardTarget[] | null)[], isShared: boolean, refusing: readonly string[]): Promise<string[]> {
  const asked: string[] = [];
  const answer = (workerId: string): Promise<void> => {
    asked.push(workerId);
    return refusing.includes(workerId) ? Promise.reject(noCapacity()) : Promise.resolve();
  };
  const forwarder = { workerId: 'a', byContent: async () => found.shift() ?? null, isShared: () => isShared } as Partial<Forwarder>;
  const others = new OtherWorkers({
    forwarder: forwarder as Forwarder,
    limits: undefined as never,
    isDraining: () => false,
    originOf: () => 'http://a.test',
  });
  const exchange = { forwarded: null } as unknown as Exchange;
  await others
    .byContent(openConnect, exchange, { here: () => answer('a'), there: ({ workerId }) => answer(workerId) })
    .catch((error: ServiceError) => asked.push(error.code));
  return asked;
}

describe('a request that several workers may answer', () => {
  it('the next worker is asked where one has no room', async () => {
    assert.deepEqual(await ask([[to('b'), to('a')]], false, ['b']), ['b', 'a']);
    assert.deepEqual(await ask([[to('b'), to('a')]], false, ['a', 'b']), ['b', 'a', 'no_capacity']);
  });

  it('a browser that another client of its address has made meanwhile is found at its worker', async () => {
    assert.deepEqual(await ask([null, [to('b', 'ses_1')]], true, ['a']), ['a', 'b']);
    assert.deepEqual(await ask([[to('c')], [to('b', 'ses_1')]], true, ['c']), ['c', 'b']);
    assert.deepEqual(await ask([[to('c')], null], true, ['c']), ['c', 'a']);
  });

  it('nobody is asked for ever for a browser of an address', async () => {
    assert.deepEqual(await ask([null, [to('b', 'ses_1')], [to('c', 'ses_2')]], true, ['a', 'b', 'c']), ['a', 'b', 'no_capacity']);
    assert.deepEqual(await ask([null, [to('b')]], false, ['a']), ['a', 'no_capacity']);
  });
});
