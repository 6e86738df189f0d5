/**
 * Compares what the database holds in the end with a model that does one thing
 * after the other: the journal's order is the order in which the model does
 * what the clients did, and all that they were told must fit to it.
 */
import { faultsOf } from './always.ts';
import type { Case, Origins } from './case.ts';
import { journalFaults } from './judge-journal.ts';
import { planFaults } from './judge-plans.ts';
import { useFaults } from './judge-use.ts';
import { orderFaults } from './model.ts';
import { walletsOf } from './schedule.ts';

/** What is wrong with the books of a schedule after its end: nothing, if all is well. */
export function judge(of: Case): string[] {
  const origins: Origins = new Map();
  const found = [...faultsOf(of.books, null), ...journalFaults(of, origins), ...useFaults(of, origins), ...planFaults(of)];
  return [...found, ...walletsOf(of.schedule).flatMap((owner) => [...orderFaults(owner, of, origins)])];
}
