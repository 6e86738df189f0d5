import { microPerCredit } from '@berth/contract';

/** Internal amounts are integers in millionths of a credit; the API uses credits. */
export const toCredits = (amount: number): number => amount / microPerCredit;

/** Exact for up to six decimals, which the contract enforces. */
export const toMicro = (credits: number): number => Math.round(credits * microPerCredit);
