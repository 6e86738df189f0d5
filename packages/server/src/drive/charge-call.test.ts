import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { chargeCall, oneAction, type Cost } from './charge-call.ts';
import { FakeMetering, fakeSession } from './metering.fixture.ts';

function makeCall() {
  const metering = new FakeMetering();
  const deps = { ...metering, session: fakeSession().session };
  const call = <T>(work: (admit: () => Promise<void>) => Promise<T>, cost: Cost<T> = oneAction) => chargeCall(deps, cost, work);
  return { metering, call };
}

describe('a call that costs', () => {
  it('is charged by its result on success', async () => {
    const { metering, call } = makeCall();
    const work = async (admit: () => Promise<void>): Promise<string> => {
      await admit();
      assert.deepEqual([metering.admitted, metering.ends], [[{ axis: 'action', count: 3 }], []]);
      return 'four';
    };
    assert.equal(await call(work, { count: 3, countOf: (result) => result.length }), 'four');
    assert.deepEqual(metering.ends, [4]);
  });

  it('is free when it fails, and rethrows the error', async () => {
    const { metering, call } = makeCall();
    const failure = new ServiceError('tab_not_found', 'No such tab.');
    await assert.rejects(
      call(async (admit) => {
        await admit();
        throw failure;
      }),
      failure,
    );
    assert.deepEqual(metering.ends, ['dropped']);
  });

  it('admits nothing before it starts, nor when it never starts', async () => {
    const { metering, call } = makeCall();
    await assert.rejects(
      call(() => Promise.reject(new Error('busy'))),
      /busy/,
    );
    assert.deepEqual([metering.admitted, metering.ends], [[], []]);
  });

  it('does not start without credits', async () => {
    const { metering, call } = makeCall();
    metering.refusal = 'plan_limit_exceeded';
    let hasStarted = false;
    const work = async (admit: () => Promise<void>): Promise<void> => {
      await admit();
      hasStarted = true;
    };
    await assert.rejects(call(work), { code: 'plan_limit_exceeded' });
    assert.deepEqual([hasStarted, metering.ends], [false, []]);
  });
});
