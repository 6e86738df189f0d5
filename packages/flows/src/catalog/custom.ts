import { Steps, ValidationError, boundedRecord, boundedString } from '@berth/contract';
import { z } from 'zod';
import { importRecorder } from '@berth/devtools';
import { exportPlaywright } from '../export/playwright.ts';
import { exportRecording } from '../export/recording.ts';

import { defineFlow, type FlowStep } from '../flow.ts';
import { Url, secretInput } from '../inputs.ts';

const inputs = z
  .strictObject({
    url: Url.optional().describe('URL to open before the first step. Default: none.'),
    steps: Steps.optional().describe('Steps of the step language, at most 50. Exactly one of `steps` and `recording` is required.'),
    recording: boundedRecord(boundedString(0, 64), z.unknown(), 50)
      .optional()
      .describe('A recording that the Chrome DevTools Recorder exported as JSON.'),
    inputs: boundedRecord(boundedString(1, 64), z.unknown(), 100)
      .default({})
      .describe('Values of `{{inputs.name}}`, at most 100. They are never templates themselves. Default: none.'),
    secrets: boundedRecord(boundedString(1, 64).regex(/^\w+$/), secretInput('A secret.'), 20).default({}).meta({
      writeOnly: true,
      description: 'Values of `{{secret.name}}`, at most 20. They are never stored, logged or returned. Default: none.',
    }),
    export: z
      .enum(['recorder', 'playwright'])
      .optional()
      .describe('Also returns the steps as a Recorder recording or a Playwright test. Default: neither.'),
  })
  .check(({ value, issues }) => {
    if ((value.steps === undefined) === (value.recording === undefined))
      issues.push({ code: 'custom', message: 'Exactly one of steps and recording is required', input: value, params: { type: 'missing' } });
    if (value.recording === undefined) return;
    try {
      importRecorder(value.recording, ['recording']);
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      for (const { loc, msg, type, input } of error.detail)
        issues.push({ code: 'custom', message: msg, path: [...loc], input, params: { type } });
    }
  });

const output = z.object({
  outputs: z
    .array(
      z.object({
        index: z.int().describe('Position of the step in `steps`, from 0.'),
        id: z.string().nullable().describe('Id of the step; null if it has none.'),
        type: z.string().describe('Type of the step.'),
        output: z.unknown().describe('Output of the step; its form depends on the type.'),
      }),
    )
    .describe('Outputs of the steps that have one.'),
  vars: z.record(z.string(), z.unknown()).describe('Variables that `save_as` has set.'),
  export: z
    .union([z.string(), z.record(z.string(), z.unknown())])
    .nullable()
    .describe('The steps in the requested format; null without `export`, or if a step has no counterpart.'),
  final_url: z.string().describe('URL of the page at the end.'),
});

export const custom = defineFlow({
  name: 'custom',
  title: 'Run your own steps',
  description: 'Runs a step list, or a recording of the Chrome DevTools Recorder, and returns the output of each step.',
  version: '1',
  category: 'custom',
  inputs,
  output,
  example: {
    steps: [
      { type: 'navigate', url: '{{inputs.page}}' },
      { type: 'extract', selectors: ['h1'], save_as: 'heading' },
    ],
    inputs: { page: 'https://example.com/' },
  },
  needsSession: ({ steps, recording }) => needsTabsOrFiles(steps ?? recording),
  run: async (run, { url, steps, recording, inputs: values, export: format }) => {
    if (url !== undefined) await run.open(url);
    const { steps: list, warnings } = steps ? { steps, warnings: [] } : importRecorder(recording);
    for (const warning of warnings) run.warn(warning);
    const { results, vars } = await run.run(list as unknown as FlowStep[], values);
    const outputs = results
      .filter((result) => result.output !== undefined)
      .map(({ index, id, type, output: value }) => ({ index, id, type, output: value }));
    return {
      outputs,
      vars,
      export: format === undefined ? null : exportSteps(format, list as unknown as FlowStep[]),
      final_url: run.url(),
    };
  },
});

const exportSteps = (format: 'recorder' | 'playwright', steps: readonly FlowStep[]) =>
  format === 'recorder' ? exportRecording('Steps', steps) : exportPlaywright('Steps', steps);

/** Another tab than the first, a file or a download needs a session. */
export function needsTabsOrFiles(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(needsTabsOrFiles);
  if (typeof value !== 'object' || value === null) return false;
  const { type, tab, target } = value as Record<string, unknown>;
  if (type === 'download' || type === 'upload' || (typeof tab === 'string' && tab !== 'main')) return true;
  return (typeof target === 'string' && target !== 'main') || Object.values(value).some(needsTabsOrFiles);
}
