/** The cost of metering and billing. */
import { admission } from './money/admission.ts';
import { debits } from './money/debits.ts';
import { flush } from './money/flush.ts';
import { revocation } from './money/revocation.ts';
import { usage } from './money/usage.ts';

export const money = { debits, admission, usage, revocation, flush };
