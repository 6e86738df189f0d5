/**
 * Compares the final state of the database with a sequential model. The model
 * executes the clients' operations in the order of the journal, and every result
 * that a client received must be consistent with it.
 */
import { findViolations } from './invariants.ts';
import type { CheckInput, EntryOrigins } from './check-input.ts';
import { checkJournal } from './check-journal.ts';
import { checkPlans } from './check-plans.ts';
import { checkUsage } from './check-usage.ts';
import { checkWallet } from './model.ts';
import { walletsOf } from '../schedule.ts';

/** Returns the inconsistencies of a finished schedule; empty when there are none. */
export function checkSchedule(input: CheckInput): string[] {
  const origins: EntryOrigins = new Map();
  const issues = [
    ...findViolations(input.snapshot, null),
    ...checkJournal(input, origins),
    ...checkUsage(input, origins),
    ...checkPlans(input),
  ];
  return [...issues, ...walletsOf(input.schedule).flatMap((owner) => [...checkWallet(owner, input, origins)])];
}
