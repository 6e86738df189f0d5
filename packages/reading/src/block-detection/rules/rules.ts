/** All rules of the classifier. */
import { loginRules, otherRules } from './other-rules.ts';
import type { Rule } from './rule.ts';
import { vendorRules } from './vendor-rules.ts';

/** Changes with every rule, so that stored classifications can be compared. */
export const signaturesVersion = '2026-11-21.1';

/** All rules in order of precedence: of two that are equally strong, the earlier names the block. */
export const rules: readonly Rule[] = [...loginRules, ...vendorRules, ...otherRules];
