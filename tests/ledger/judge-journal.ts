/** What was given and taken, entry by entry: all that was told to be done is there once, all else once or not at all. */
import { codeDigest } from '../../packages/server/src/lib/code.ts';
import type { CodeRow, Entry } from './books.ts';
import type { Charge, Grant, Redemption, Trial } from './history.ts';
import type { Case, Origins } from './case.ts';
import { walletsOf } from './schedule.ts';

export function* journalFaults(of: Case, origins: Origins): Generator<string> {
  yield* grants(of, origins);
  yield* charges(of, origins);
  yield* redemptions(of, origins);
  yield* unasked(of);
  yield* leftHolds(of);
  yield* untold(of);
}

/** An amount is granted by one client only. */
function* grants({ books, history }: Case, origins: Origins): Generator<string> {
  const given = books.journal.filter(({ from }) => from === 'source:grants');
  const entries = Map.groupBy(given, ({ amount }) => amount);
  for (const deed of history.of('grant')) yield* once(deed, entries.get(deed.amount) ?? [], origins);
}

function* charges({ books, history }: Case, origins: Origins): Generator<string> {
  const entries = Map.groupBy(books.journal, ({ opId }) => opId);
  for (const deed of history.of('charge')) {
    const own = entries.get(deed.id) ?? [];
    yield* once(deed, own, origins);
    for (const { amount } of own) yield* wrongAmount(deed, amount);
  }
}

function* wrongAmount({ id, outcome, charged, amount: asked, mayOwe }: Charge, amount: number): Generator<string> {
  if (outcome === 'done' && amount !== charged) yield `${id}: ${charged} were told to be charged, and ${amount} are entered`;
  if (amount > asked) yield `${id}: ${amount} are charged for ${asked}`;
  if (mayOwe && amount !== asked) yield `${id}: only ${amount} of ${asked} are charged to who may owe`;
}

function* once(deed: Grant | Charge, entries: Entry[], origins: Origins): Generator<string> {
  const what = `${deed.kind} ${deed.id} of ${deed.amount}`;
  const [entry] = entries;
  if (entry) origins.set(entry, deed);
  if (entries.length > 1) yield `${what} was entered ${entries.length} times`;
  if (deed.outcome === 'done' && entries.length === 0) yield `${what} was told to be done, and is not entered`;
  if (entry && entry.owner !== deed.owner) yield `${what} of ${deed.owner} went to ${entry.owner}`;
}

/** A code has one winner, whoever it is, and its winner has what it is worth. */
function* redemptions({ books, history }: Case, origins: Origins): Generator<string> {
  const deeds = history.of('redemption');
  const rowOf = (code: string): CodeRow | undefined => books.creditCodes.get(codeDigest(code).toString('hex'));
  for (const [code, tried] of Map.groupBy(deeds, (deed) => deed.code)) yield* wrongWinner(tried, rowOf(code));
  for (const [amount, tried] of Map.groupBy(deeds, (deed) => deed.amount)) {
    const redeemed = [...new Set(tried.map(({ code }) => code))].filter((code) => rowOf(code)?.redeemedBy != null);
    const entries = books.journal.filter((entry) => entry.from === 'source:codes' && entry.amount === amount);
    if (entries.length !== redeemed.length) yield `${redeemed.length} codes of ${amount} are redeemed, and ${entries.length} entered`;
    attribute(entries, tried, origins);
  }
}

/** Where one owner has redeemed several codes that are worth the same, its entries are told apart by nothing. */
function attribute(entries: Entry[], tried: Redemption[], origins: Origins): void {
  for (const [owner, own] of Map.groupBy(entries, (entry) => entry.owner)) {
    const winners = tried.filter((deed) => deed.owner === owner && deed.outcome === 'done');
    const [entry, deed] = [own[0], winners[0]];
    if (own.length === 1 && winners.length === 1 && entry && deed) origins.set(entry, deed);
  }
}

/** `tried` are all who named the code. */
export function* wrongWinner(tried: (Redemption | Trial)[], row: CodeRow | undefined): Generator<string> {
  const what = `the code that ${tried.map(({ id }) => id).join(', ')} tried`;
  if (!row) return yield `${what} is not there`;
  const { redeemedBy } = row;
  const winners = tried.filter(({ outcome }) => outcome === 'done');
  if (winners.length > 1) yield `${what} was redeemed by ${winners.map(({ id }) => id).join(' and ')}`;
  for (const { owner } of winners) if (redeemedBy !== owner) yield `${what}: ${owner} won, and ${redeemedBy} is written down`;
  const lost = tried.filter(
    ({ outcome, owner, lost }) => outcome !== 'done' && owner === redeemedBy && (lost > 0 || outcome === 'unknown'),
  );
  if (redeemedBy !== null && winners.length === 0 && lost.length === 0) yield `${what} is redeemed by ${redeemedBy}, and nobody did it`;
  const isMissed = redeemedBy === null && tried.some(({ kind, outcome }) => kind === 'redemption' && outcome === 'refused');
  if (isMissed) yield `${what} was refused as redeemed, and is not`;
}

/** Every entry is what a client asked for, or what a session used. */
function* unasked({ books, history }: Case): Generator<string> {
  const amounts = new Set([...history.of('grant'), ...history.of('redemption')].map(({ amount }) => amount));
  const asked = new Set(history.of('charge').map(({ id }) => id));
  for (const entry of books.journal) {
    const isAsked = entry.from.startsWith('source:')
      ? amounts.has(entry.amount)
      : asked.has(entry.opId) || books.sessions.has(entry.meterId ?? '');
    if (!isAsked) yield `nobody asked for ${JSON.stringify(entry)}`;
  }
}

function* leftHolds({ books }: Case): Generator<string> {
  for (const { owner, opId, amount } of books.holds) yield `${amount} of ${owner} are still held for ${opId}`;
}

/** Whatever fills a wallet is told once in the audit log. */
function* untold({ schedule, books }: Case): Generator<string> {
  const sources = { 'credits.granted': 'source:grants', 'credits.redeemed': 'source:codes' };
  for (const owner of walletsOf(schedule))
    for (const [action, from] of Object.entries(sources)) {
      const entered = books.journal.filter((entry) => entry.owner === owner && entry.from === from).length;
      const told = books.audit.filter((entry) => entry.owner === owner && entry.action === action).length;
      if (told !== entered) yield `${action} of ${owner} happened ${entered} times, and is told ${told} times`;
    }
}
