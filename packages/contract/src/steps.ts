/** What a caller has done in a page, step by step: one language for fetches, sessions and whatever is built of them. */
import { z } from 'zod';
import { Step, stepsMax } from './step-nesting.ts';
import { checkSteps } from './step-rules.ts';

export { Condition, Selector, Selectors, parsePattern, parseSelector, type ParsedSelector } from './step-fields.ts';
export type { PlainStep, StepExtractField } from './step-kinds.ts';
export { Step, stepTypes, type ForEachStep, type IfStep, type RepeatStep, type StepType } from './step-nesting.ts';
export { parseTemplate, type TemplateFilter, type TemplateValue } from './step-template.ts';

/** The steps of a request, top to bottom. */
export const Steps = z
  .array(Step)
  .max(stepsMax)
  .check(({ value, issues }) => {
    issues.push(...checkSteps(value));
  });

export const stepErrorCodes = [
  'timeout',
  'not_found',
  'not_actionable',
  'assertion_failed',
  'navigation_failed',
  'not_allowed',
  'too_large',
  'invalid_selector',
  'invalid_value',
  'frame_not_found',
  'tab_not_found',
  'file_not_found',
  'download_failed',
  'script_failed',
  'page_lost',
  'limit_reached',
] as const;
export type StepErrorCode = (typeof stepErrorCodes)[number];

export const StepResult = z
  .object({
    index: z.int().meta({ description: 'The step’s place in its list.' }),
    turn: z.int().optional().meta({ description: 'Of the loop around it, from 0.' }),
    id: z.string().nullable(),
    type: z.string(),
    status: z.enum(['ok', 'error', 'skipped']),
    duration_ms: z.int(),
    output: z.unknown().optional(),
    error: z
      .object({ code: z.string().meta({ description: stepErrorCodes.map((code) => `\`${code}\``).join(', ') }), message: z.string() })
      .optional()
      .meta({ description: 'Also of a step that is `skipped` because it is optional.' }),
    selector_used: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .meta({ description: 'Which of `selectors` matched.' }),
    warnings: z.array(z.string()).optional(),
  })
  .meta({ id: 'StepResult', description: 'Steps in another are told in its `output.steps`.' });
export type StepResult = z.infer<typeof StepResult>;
