/** Kills the service during calls of every kind that has a price. */
import assert from 'node:assert/strict';
import { createSession, fetchPage, navigate, screenshot } from '@berth/contract';
import type { Account } from './billing-database.ts';
import type { Owner } from './billing-owner.ts';
import type { BillingFixture } from './billing-fixture.ts';
import { eventually } from '../service.ts';

const pageBytes = 70_000;
/** None of the calls may end before the kill, however long the others take to begin. */
const timeout_ms = 120_000;
/** Upper bounds of the unanswered usage. */
export const unansweredMax = { actions: 5, sessions: 1, bytes: 4 * (pageBytes + 2000) };

export interface CrashResult {
  /** Calls that were answered before the kill. */
  answered: number;
  /** The owner's account after the kill. */
  account: Account;
}

/** Kills the service while one of the owner's two sessions navigates to an endless page and the other takes screenshots. */
export async function killDuringCalls(fixture: BillingFixture, owner: Owner, [first = '', second = '']: string[]): Promise<CrashResult> {
  const { client } = owner;
  const url = fixture.site.page(pageBytes, { isEndless: true });
  let answered = 0;
  const takePictures = async (): Promise<void> => {
    for (; (await client.send(screenshot, { params: { session_id: second }, body: {} })).status === 200; answered += 1);
  };
  const calls = [
    client.send(navigate, { params: { session_id: first }, body: { url, timeout_ms } }),
    client.send(fetchPage, { body: { url, mode: 'http', timeout_ms } }),
    client.send(fetchPage, { body: { url, mode: 'browser', timeout_ms } }),
    client.send(fetchPage, { body: { url, mode: 'auto', timeout_ms } }),
    takePictures(),
  ];
  await eventually('all calls are running', () => fixture.site.count(url) === 4 && answered >= 3);
  calls.push(client.send(createSession, { body: {} }));
  await eventually('a session is being started', async () => (await fixture.database.account(owner.name)).held >= 1_000_000);
  const outcomes = Promise.allSettled(calls);
  await fixture.kill();
  for (const { status } of await outcomes) assert.equal(status, 'rejected');
  return { answered, account: await fixture.database.account(owner.name) };
}
