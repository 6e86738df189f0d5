import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AccruedCharges } from './accrued-charges.ts';

const all = { amountMin: 1, allowOverdraft: true };

describe('accrued charges of a meter', () => {
  it('accrued charges of a meter are requested by axis, under an id that names the accrued total', () => {
    const accruedCharges = new AccruedCharges('ses_1', 'anna');
    accruedCharges.accrue('session', 1_000_000);
    accruedCharges.accrueTotal('egress', 300);
    assert.deepEqual(
      accruedCharges.collectRequests(all).map(({ opId, amount, axis, allowOverdraft }) => ({ opId, amount, axis, allowOverdraft })),
      [
        { opId: 'meter:ses_1:session:1000000', amount: 1_000_000, axis: 'session', allowOverdraft: true },
        { opId: 'meter:ses_1:egress:300', amount: 300, axis: 'egress', allowOverdraft: true },
      ],
    );
  });

  it('accrued charges of a meter repeat the same request until its outcome is known, whatever accrued since', () => {
    const accruedCharges = new AccruedCharges('ses_1', 'anna');
    accruedCharges.accrueTotal('egress', 300);
    const [first] = accruedCharges.collectRequests(all);
    accruedCharges.accrueTotal('egress', 450);
    assert.deepEqual(accruedCharges.collectRequests({ amountMin: 1, allowOverdraft: false }), [first]);
    assert.ok(first);
    accruedCharges.markCharged(first);
    const [second] = accruedCharges.collectRequests(all);
    assert.deepEqual([second?.opId, second?.amount], ['meter:ses_1:egress:450', 150]);
  });

  it('accrued charges of a meter wait until they are worth a row of the journal', () => {
    const accruedCharges = new AccruedCharges('ses_1', 'anna');
    accruedCharges.accrueTotal('egress', 99);
    assert.equal(accruedCharges.isDue(100), false);
    assert.deepEqual(accruedCharges.collectRequests({ amountMin: 100, allowOverdraft: true }), []);
    accruedCharges.accrueTotal('egress', 100);
    assert.equal(accruedCharges.isDue(100), true);
    assert.equal(accruedCharges.uncharged, 100);
  });

  it('accrued charges of a meter never decrease', () => {
    const accruedCharges = new AccruedCharges('ses_1', 'anna');
    accruedCharges.accrueTotal('egress', 100);
    accruedCharges.accrueTotal('egress', 50);
    assert.equal(accruedCharges.uncharged, 100);
  });
});
