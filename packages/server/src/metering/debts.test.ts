import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Debts } from './debts.ts';

const all = { least: 1, mayOwe: true };

describe('what a meter owes', () => {
  it('is asked for by axis, under an id that says how much it was up to then', () => {
    const debts = new Debts('ses_1', 'anna');
    debts.owe('session', 1_000_000);
    debts.oweInAll('egress', 300);
    assert.deepEqual(
      debts.orders(all).map(({ opId, amount, axis, mayOwe }) => ({ opId, amount, axis, mayOwe })),
      [
        { opId: 'meter:ses_1:session:1000000', amount: 1_000_000, axis: 'session', mayOwe: true },
        { opId: 'meter:ses_1:egress:300', amount: 300, axis: 'egress', mayOwe: true },
      ],
    );
  });

  it('is asked for again as it was until the outcome is known, whatever was owed since', () => {
    const debts = new Debts('ses_1', 'anna');
    debts.oweInAll('egress', 300);
    const [first] = debts.orders(all);
    debts.oweInAll('egress', 450);
    assert.deepEqual(debts.orders({ least: 1, mayOwe: false }), [first]);
    assert.ok(first);
    debts.settle(first);
    const [second] = debts.orders(all);
    assert.deepEqual([second?.opId, second?.amount], ['meter:ses_1:egress:450', 150]);
  });

  it('waits until it is worth a row of the journal', () => {
    const debts = new Debts('ses_1', 'anna');
    debts.oweInAll('egress', 99);
    assert.equal(debts.isDue(100), false);
    assert.deepEqual(debts.orders({ least: 100, mayOwe: true }), []);
    debts.oweInAll('egress', 100);
    assert.equal(debts.isDue(100), true);
    assert.equal(debts.unsettled, 100);
  });

  it('never falls', () => {
    const debts = new Debts('ses_1', 'anna');
    debts.oweInAll('egress', 100);
    debts.oweInAll('egress', 50);
    assert.equal(debts.unsettled, 100);
  });
});
