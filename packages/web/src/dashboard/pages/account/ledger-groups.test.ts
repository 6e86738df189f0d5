import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CreditEntry } from '@berth/contract';
import { groupEntries, toCsv } from './ledger-groups.ts';

const entry = (id: number, at: string, amount: number, sessionId: string | null = null): CreditEntry => ({
  entry_id: String(id),
  at,
  type: amount > 0 ? 'grant' : 'action',
  amount,
  balance: 1,
  session_id: sessionId,
});

const entries = [
  entry(4, '2026-11-28T10:00:00.000Z', -0.1, 'ses_1'),
  entry(3, '2026-11-28T09:00:00.000Z', -0.2, 'ses_1'),
  entry(2, '2026-11-27T23:59:59.999Z', -0.000001),
  entry(1, '2026-11-27T10:00:00.000Z', 5),
];

it('entries of the ledger are added up by day and by session without rounding', () => {
  assert.deepEqual(groupEntries(entries, 'day'), [
    { key: '2026-11-28', added: 0, taken: 0.3, entries: 2 },
    { key: '2026-11-27', added: 5, taken: 0.000001, entries: 2 },
  ]);
  assert.deepEqual(
    groupEntries(entries, 'session').map(({ key, taken }) => [key, taken]),
    [
      ['ses_1', 0.3],
      ['', 0.000001],
    ],
  );
});

it('the ledger as CSV has a header, exact amounts and quoted texts', () => {
  const text = toCsv([entry(1, '2026-11-27T10:00:00.000Z', 0.000001, 'a,"b')]);
  assert.equal(text, 'at,type,session_id,amount,balance,entry_id\r\n2026-11-27T10:00:00.000Z,grant,"a,""b",0.000001,1,1\r\n');
});
