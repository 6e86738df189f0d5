/** A service that is killed in the middle of calls of every kind that cost something. */
import assert from 'node:assert/strict';
import { createSession, fetchPage, navigate, screenshot } from '@berth/contract';
import type { Account } from './money-books.ts';
import type { Owner } from './money-owner.ts';
import type { World } from './money-world.ts';
import { eventually } from './service.ts';

const pageBytes = 70_000;
/** What was asked for and never answered, at most. */
export const underWay = { actions: 5, sessions: 1, bytes: 4 * (pageBytes + 2000) };

export interface Death {
  /** Calls that were answered last of all. */
  answered: number;
  /** What the owner's account was when nobody served any more. */
  books: Account;
}

/** The owner has two sessions. One is sent to a page that goes on and on, of the other pictures are taken. */
export async function killUnderWay(world: World, owner: Owner, [first = '', second = '']: string[]): Promise<Death> {
  const { client } = owner;
  const url = world.site.page(pageBytes, { isHeld: true });
  let answered = 0;
  const takePictures = async (): Promise<void> => {
    for (; (await client.send(screenshot, { params: { session_id: second }, body: {} })).status === 200; answered += 1);
  };
  const calls = [
    client.send(navigate, { params: { session_id: first }, body: { url } }),
    client.send(fetchPage, { body: { url, mode: 'http' } }),
    client.send(fetchPage, { body: { url, mode: 'browser' } }),
    client.send(fetchPage, { body: { url, mode: 'auto' } }),
    takePictures(),
  ];
  await eventually('all of them are under way', () => world.site.count(url) === 4 && answered >= 3);
  calls.push(client.send(createSession, { body: {} }));
  await eventually('a session is being started', async () => (await world.books.account(owner.name)).held >= 1_000_000);
  const outcomes = Promise.allSettled(calls);
  await world.kill();
  for (const { status } of await outcomes) assert.equal(status, 'rejected');
  return { answered, books: await world.books.account(owner.name) };
}
