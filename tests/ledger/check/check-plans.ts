/** Checks plans from billing events and promo codes, and API keys. */
import { codeDigest } from '@berth/lib/code.ts';
import { checkRedeemer } from './check-journal.ts';
import type { CheckInput } from './check-input.ts';
import { ownerOf, type BillingEvent } from '../schedule.ts';
import { defaultTier, tierOf } from '../tiers.ts';

export function* checkPlans(input: CheckInput): Generator<string> {
  yield* checkEvents(input);
  yield* checkPlanChanges(input);
  yield* checkTrials(input);
  yield* checkKeys(input);
}

const tierAfter = ({ type, tier }: BillingEvent): string => (type === 'customer.subscription.deleted' ? defaultTier : tier);

/** The newest event determines the plan, whatever the order and number of deliveries. */
function* checkEvents({ schedule, history, snapshot }: CheckInput): Generator<string> {
  const owner = ownerOf(schedule, 'buyer');
  const deliveriesById = Map.groupBy(history.of('delivery'), ({ eventId }) => eventId);
  const delivered = schedule.events.filter(({ id, type }) => deliveriesById.has(id) && type !== 'customer.updated');
  const newest = delivered.toSorted((one, other) => other.created - one.created)[0];
  const tier = snapshot.owners.get(owner)?.tier;
  if (newest && tier !== tierAfter(newest)) yield `${owner} has the plan ${tier}, and ${newest.id} says ${tierAfter(newest)}`;
  for (const [eventId, deliveries] of deliveriesById) {
    const applied = deliveries.filter(({ outcome, isDuplicate, isIgnored }) => outcome === 'done' && !isDuplicate && !isIgnored).length;
    if (applied > 1) yield `${eventId} was applied ${applied} times`;
  }
}

/** An event that is older than an applied one changes nothing. */
function* checkPlanChanges({ schedule, snapshot }: CheckInput): Generator<string> {
  const owner = ownerOf(schedule, 'buyer');
  const created = new Map(schedule.events.map((event) => [event.id, event.created]));
  const changed = snapshot.audit.filter((entry) => entry.owner === owner && entry.action === 'tier.changed');
  const times = changed.map(({ reason }) => created.get(reason?.split(' ').at(-1) ?? '') ?? 0);
  const isInOrder = times.every((at, index) => index === 0 || at > (times[index - 1] ?? 0));
  if (!isInOrder) yield `the plan of ${owner} was changed by events of ${times.join(', ')}, in this order`;
  const stored = snapshot.events.filter((event) => event.owner === owner);
  const newest = stored.toSorted((one, other) => other.created - one.created)[0];
  if (newest && !newest.isApplied) yield `the newest event of ${owner} was not applied`;
}

function* checkTrials({ schedule, history, snapshot }: CheckInput): Generator<string> {
  const operations = history.of('trial');
  for (const [code, attempts] of Map.groupBy(operations, (operation) => operation.code))
    yield* checkRedeemer(attempts, snapshot.promoCodes.get(codeDigest(code).toString('hex')));
  const trial = snapshot.owners.get(ownerOf(schedule, 'trial'))?.trialTier ?? null;
  const isAnswered = operations.some(({ outcome }) => outcome !== 'unknown');
  if (isAnswered && trial !== tierOf.trial)
    yield `a trial of ${tierOf.trial} was granted, or another one refused for it, and there is ${trial}`;
}

/** Keys reported as created or revoked are, with one audit entry each. */
function* checkKeys({ schedule, history, snapshot }: CheckInput): Generator<string> {
  for (const { keyId, owner, isRevoked } of history.of('key')) {
    const row = snapshot.keys.get(keyId);
    if (row?.owner !== owner) yield `the key ${keyId} of ${owner} is ${row ? `of ${row.owner}` : 'not there'}`;
    if (row && isRevoked !== null && row.isRevoked !== isRevoked) yield `the key ${keyId} should ${isRevoked ? '' : 'not '}be revoked`;
  }
  const buyer = ownerOf(schedule, 'buyer');
  const own = [...snapshot.keys.values()].filter(({ owner }) => owner === buyer);
  const expected = { 'key.created': own.length, 'key.revoked': own.filter(({ isRevoked }) => isRevoked).length };
  for (const [action, count] of Object.entries(expected)) {
    const audited = snapshot.audit.filter((entry) => entry.owner === buyer && entry.action === action).length;
    if (audited !== count) yield `${action} of ${buyer} happened ${count} times, and has ${audited} audit entries`;
  }
}
