/** Plans by the payment provider's events and by codes, and keys. */
import { codeDigest } from '../../packages/server/src/lib/code.ts';
import { wrongWinner } from './judge-journal.ts';
import type { Case } from './case.ts';
import { ownerOf, type BillingEvent } from './schedule.ts';
import { defaultTier, tierOf } from './tiers.ts';

export function* planFaults(of: Case): Generator<string> {
  yield* events(of);
  yield* changes(of);
  yield* trials(of);
  yield* keys(of);
}

const tierAfter = ({ type, tier }: BillingEvent): string => (type === 'customer.subscription.deleted' ? defaultTier : tier);

/** The newest event says what the plan is, in whatever order they came and however often. */
function* events({ schedule, history, books }: Case): Generator<string> {
  const owner = ownerOf(schedule, 'buyer');
  const heard = Map.groupBy(history.of('delivery'), ({ eventId }) => eventId);
  const told = schedule.events.filter(({ id, type }) => heard.has(id) && type !== 'customer.updated');
  const newest = told.toSorted((one, other) => other.created - one.created)[0];
  const tier = books.owners.get(owner)?.tier;
  if (newest && tier !== tierAfter(newest)) yield `${owner} has the plan ${tier}, and ${newest.id} says ${tierAfter(newest)}`;
  for (const [eventId, deliveries] of heard) {
    const taken = deliveries.filter(({ outcome, isDuplicate, isIgnored }) => outcome === 'done' && !isDuplicate && !isIgnored).length;
    if (taken > 1) yield `${eventId} was taken ${taken} times`;
  }
}

/** An event that is older than another that was applied changes nothing any more. */
function* changes({ schedule, books }: Case): Generator<string> {
  const owner = ownerOf(schedule, 'buyer');
  const created = new Map(schedule.events.map((event) => [event.id, event.created]));
  const changed = books.audit.filter((entry) => entry.owner === owner && entry.action === 'tier.changed');
  const times = changed.map(({ why }) => created.get(why?.split(' ').at(-1) ?? '') ?? 0);
  const isInOrder = times.every((at, index) => index === 0 || at > (times[index - 1] ?? 0));
  if (!isInOrder) yield `the plan of ${owner} was changed by events of ${times.join(', ')}, in this order`;
  const known = books.events.filter((event) => event.owner === owner);
  const newest = known.toSorted((one, other) => other.created - one.created)[0];
  if (newest && !newest.isApplied) yield `the newest event of ${owner} was not applied`;
}

function* trials({ schedule, history, books }: Case): Generator<string> {
  const deeds = history.of('trial');
  for (const [code, tried] of Map.groupBy(deeds, (deed) => deed.code))
    yield* wrongWinner(tried, books.promoCodes.get(codeDigest(code).toString('hex')));
  const trial = books.owners.get(ownerOf(schedule, 'trial'))?.trialTier ?? null;
  const isTold = deeds.some(({ outcome }) => outcome !== 'unknown');
  if (isTold && trial !== tierOf.trial)
    yield `a trial of ${tierOf.trial} was granted, or another one refused for it, and there is ${trial}`;
}

/** What was told to be made and revoked is, and each of it is told once in the audit log. */
function* keys({ schedule, history, books }: Case): Generator<string> {
  for (const { keyId, owner, isRevoked } of history.of('key')) {
    const row = books.keys.get(keyId);
    if (row?.owner !== owner) yield `the key ${keyId} of ${owner} is ${row ? `of ${row.owner}` : 'not there'}`;
    if (row && isRevoked !== null && row.isRevoked !== isRevoked) yield `the key ${keyId} should ${isRevoked ? '' : 'not '}be revoked`;
  }
  const buyer = ownerOf(schedule, 'buyer');
  const own = [...books.keys.values()].filter(({ owner }) => owner === buyer);
  const facts = { 'key.created': own.length, 'key.revoked': own.filter(({ isRevoked }) => isRevoked).length };
  for (const [action, count] of Object.entries(facts)) {
    const told = books.audit.filter((entry) => entry.owner === buyer && entry.action === action).length;
    if (told !== count) yield `${action} of ${buyer} happened ${count} times, and is told ${told} times`;
  }
}
