/** Passes a large value between threads in pieces, because a thread deserializes a message without a pause. */
import { deserialize, serialize } from 'node:v8';
import { nextTurn, TurnBudget } from './turn-budget.ts';

type Key = string | number;

/** Some entries of the container at a path. The first piece is the whole value without its large parts. */
export interface Piece {
  path: Key[];
  /** A list of `[key, value]`, by v8's `serialize`. */
  entries: Uint8Array;
}

/** Values of a piece, read within a millisecond. */
const pieceValuesMax = 2000;

/** Takes the value apart: it is empty afterwards. It has strings, numbers, booleans, null, lists and plain objects, as of JSON. */
export function toPieces(value: unknown): Piece[] {
  const pieces: Piece[] = [];
  const holder = { value };
  takeApart(holder, [], pieces);
  return [{ path: [], entries: serialize(Object.entries(holder)) }, ...pieces];
}

/** Moves entries into pieces until the container is small, and returns how many values are left in it. */
function takeApart(container: object, path: Key[], pieces: Piece[]): number {
  const inner: Piece[] = [];
  let entries: [Key, unknown][] = [];
  let [weight, total] = [0, 0];
  const runs: [Key, unknown][][] = [];
  for (const [name, value] of Object.entries(container) as [string, unknown][]) {
    const key = Array.isArray(container) ? Number(name) : name;
    const values = typeof value === 'object' && value !== null ? 1 + takeApart(value, [...path, key], inner) : 1;
    if (weight + values > pieceValuesMax && entries.length > 0) {
      runs.push(entries);
      [entries, weight] = [[], 0];
    }
    entries.push([key, value]);
    weight += values;
    total += values;
  }
  if (total <= pieceValuesMax) {
    pieces.push(...inner);
    return total;
  }
  for (const run of [...runs, entries]) pieces.push({ path, entries: serialize(run) });
  // Containers come before what is put into them.
  for (const piece of inner) pieces.push(piece);
  if (Array.isArray(container)) container.length = 0;
  else for (const name of Object.keys(container)) Reflect.deleteProperty(container, name);
  return 0;
}

/** Puts the value together, over as many turns of the event loop as it takes. */
export async function fromPieces(pieces: readonly Piece[]): Promise<unknown> {
  const turn = new TurnBudget();
  const holder: { value?: unknown } = {};
  for (const { path, entries } of pieces) {
    if (turn.isSpent()) await nextTurn();
    let at: unknown = holder;
    for (const key of path) at = (at as Record<Key, unknown>)[key];
    for (const [key, value] of deserialize(entries) as [Key, unknown][]) (at as Record<Key, unknown>)[key] = value;
  }
  return holder.value;
}
