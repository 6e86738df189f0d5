import { microPerCredit } from '@berth/contract';

/** Inside, amounts are whole millionths of a credit; callers are told credits. */
export const toCredits = (amount: number): number => amount / microPerCredit;

/** Exact for six decimals, which is all that the contract lets in. */
export const toMicro = (credits: number): number => Math.round(credits * microPerCredit);
