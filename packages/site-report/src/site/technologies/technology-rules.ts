/** All rules, in the order of the report. */
import { serviceRules } from './service-rules.ts';
import { softwareRules } from './software-rules.ts';
import type { TechnologyRule } from './technology-rule.ts';

export type { TechnologyRule } from './technology-rule.ts';

export const technologyRules: readonly TechnologyRule[] = [...softwareRules, ...serviceRules];
