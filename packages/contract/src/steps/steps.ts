/** The step language, which sessions and fetches share. */
import { z } from 'zod';
import { boundedList } from '../bounds.ts';
import { Step, stepsMax } from './step-nesting.ts';
import { checkSteps, tooManySteps } from './step-rules.ts';

export { Condition, Selector, Selectors, parsePattern, parseSelector, type ParsedSelector } from './step-fields.ts';
export type { PlainStep, StepExtractField } from './step-kinds.ts';
export { Step, stepTypes, type ForEachStep, type IfStep, type RepeatStep, type StepType } from './step-nesting.ts';
export { parseTemplate, type TemplateFilter, type TemplateValue } from './step-template.ts';

/** The steps of a request, in order. */
export const Steps = boundedList(Step, stepsMax, { before: tooManySteps }).check(({ value, issues }) => {
  issues.push(...checkSteps(value));
});

export const stepErrorCodes = [
  'timeout',
  'not_found',
  'not_actionable',
  'click_not_received',
  'assertion_failed',
  'navigation_failed',
  'not_a_page',
  'not_allowed',
  'too_large',
  'invalid_selector',
  'invalid_value',
  'frame_not_found',
  'tab_not_found',
  'ref_not_found',
  'stale_ref',
  'file_not_found',
  'download_failed',
  'script_failed',
  'page_lost',
  'limit_reached',
] as const;
export type StepErrorCode = (typeof stepErrorCodes)[number];

export const FailureDetails = z
  .object({
    reason: z.string().optional().describe('Why a page could not be loaded, as in the error `navigation_failed`.'),
    net_error: z
      .string()
      .nullable()
      .optional()
      .describe('Error of the network for such a page, such as `net::ERR_NAME_NOT_RESOLVED`; null if there was none.'),
    candidates: z
      .array(
        z.object({
          ref: z.string().describe('Reference for steps.'),
          role: z.string().describe('ARIA role of the element.'),
          name: z.string().describe('Accessible name of the element.'),
        }),
      )
      .optional()
      .describe('The elements that are most like the one that a stale reference had, at most 5, best first.'),
  })
  .meta({
    id: 'FailureDetails',
    description: 'What a page that could not be loaded failed with, or what is like a stale reference; only of such a failure.',
  })
  .optional();

export const StepResult = z
  .object({
    index: z.int().describe('Position of the step in its list, from 0.'),
    turn: z.int().optional().describe('Iteration of the enclosing loop, from 0.'),
    id: z.string().nullable().describe('Id of the step; null if it has none.'),
    type: z.string().describe('Type of the step.'),
    status: z
      .enum(['ok', 'error', 'skipped'])
      .describe('Result of the step. `skipped`: its `if` condition did not hold, or it is optional and failed.'),
    duration_ms: z.int().describe('Duration of the step in milliseconds.'),
    output: z.unknown().optional().describe('Output of the step; its form depends on the type.'),
    error: z
      .object({
        code: z.string().meta({ description: `Error code: one of ${stepErrorCodes.map((code) => `\`${code}\``).join(', ')}.` }),
        message: z.string().describe('What went wrong and what to do.'),
        details: FailureDetails,
      })
      .optional()
      .describe('Error of the step. Also present if the step is `skipped` because it is optional.'),
    selector_used: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .describe('The selector that found the element: an entry of `selectors`, unless the step was healed.'),
    healed: z
      .literal(true)
      .optional()
      .describe('Present if no entry of `selectors` matched, and the element was found by what earlier runs of the flow learned about it.'),
    warnings: z.array(z.string()).optional().describe('Warnings about the step.'),
  })
  .meta({ id: 'StepResult', description: 'Result of a step. The results of nested steps are in its `output.steps`.' });
export type StepResult = z.infer<typeof StepResult>;
