import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { charged, oneAction, type Cost } from './charged.ts';
import { Booked, bookedSession } from './metered.fixture.ts';

function makeCall() {
  const booked = new Booked();
  const parts = { ...booked, session: bookedSession().session };
  const call = <T>(work: (admit: () => Promise<void>) => Promise<T>, cost: Cost<T> = oneAction) => charged(parts, cost, work);
  return { booked, call };
}

describe('a call that costs', () => {
  it('is charged with what it came to when it went well', async () => {
    const { booked, call } = makeCall();
    const work = async (admit: () => Promise<void>): Promise<string> => {
      await admit();
      assert.deepEqual([booked.admitted, booked.ends], [[{ axis: 'action', count: 3 }], []]);
      return 'four';
    };
    assert.equal(await call(work, { count: 3, countOf: (result) => result.length }), 'four');
    assert.deepEqual(booked.ends, [4]);
  });

  it('costs nothing when it fails, and tells why', async () => {
    const { booked, call } = makeCall();
    const failure = new ServiceError('tab_not_found', 'There is no such tab.');
    await assert.rejects(
      call(async (admit) => {
        await admit();
        throw failure;
      }),
      failure,
    );
    assert.deepEqual(booked.ends, ['dropped']);
  });

  it('asks for nothing before its turn comes, nor where it never does', async () => {
    const { booked, call } = makeCall();
    await assert.rejects(
      call(() => Promise.reject(new Error('busy'))),
      /busy/,
    );
    assert.deepEqual([booked.admitted, booked.ends], [[], []]);
  });

  it('is not begun where nothing is left for it', async () => {
    const { booked, call } = makeCall();
    booked.refusal = 'plan_limit_exceeded';
    let isBegun = false;
    const work = async (admit: () => Promise<void>): Promise<void> => {
      await admit();
      isBegun = true;
    };
    await assert.rejects(call(work), { code: 'plan_limit_exceeded' });
    assert.deepEqual([isBegun, booked.ends], [false, []]);
  });
});
