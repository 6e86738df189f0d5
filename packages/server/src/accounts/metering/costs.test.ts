import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { costTable, egressMicro, microOf } from './counts.ts';

describe('prices', () => {
  it('prices are those of the contract', () => {
    assert.deepEqual(costTable, { action: 0.01, captcha: 1, egress_mb: 0.2, session: 1 });
  });

  it('prices of traffic are by the byte, rounded down to the millionth', () => {
    assert.deepEqual([0, 1, 4, 5, 9, 10, 1_000_000].map(egressMicro), [0, 0, 0, 1, 1, 2, 200_000]);
  });

  it('prices of traffic are exact however much it is', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (bytes) => assert.equal(BigInt(egressMicro(bytes)), (BigInt(bytes) * 200_000n) / 1_000_000n)));
  });

  it('prices of all that was done are summed in millionths', () => {
    assert.equal(microOf({ actions: 3, sessions: 1, captchaSolves: 2, egressBytes: 7 }), 3_030_001);
  });
});
