import { boundedList, boundedString } from '@berth/contract';
import { z } from 'zod';
import { defineFlow } from '../flow.ts';
import { Url, literal, selectorsInput } from '../inputs.ts';

/** An element that may be missing is not waited for as long as one that must come. */
const optionalMsMax = 3000;

export const clickPath = defineFlow({
  name: 'click_path',
  title: 'Click through pages',
  description: 'Opens a page, clicks elements one after another, and returns where that leads.',
  version: '1',
  category: 'navigation',
  inputs: z.strictObject({
    url: Url,
    steps: boundedList(
      z.strictObject({
        click: selectorsInput('The element to click:'),
        wait_for: selectorsInput('An element to wait for after the click:').optional(),
        optional: z.boolean().default(false).describe('Whether to go on if the element is missing. Default: `false`.'),
        description: boundedString(0, 500).optional().describe('Note of your own.'),
      }),
      50,
    )
      .min(1)
      .describe('Elements to click in order, 1 to 50.'),
    html: z.boolean().default(false).describe('Whether to return the HTML of the last page. Default: `false`.'),
  }),
  output: z.object({
    final_url: z.string().describe('URL of the last page.'),
    html: z.string().nullable().describe('HTML of the last page; null unless requested.'),
  }),
  example: { url: 'https://example.com/', steps: [{ click: ['a'] }] },
  run: async (run, { url, steps, html }) => {
    await run.open(url);
    for (const { click, wait_for: waitFor, optional } of steps)
      await run.run([
        { type: 'click', selectors: literal(click), optional, ...(optional ? { timeout_ms: optionalMsMax } : {}) },
        ...(waitFor ? [{ type: 'wait', selectors: literal(waitFor), optional }] : []),
      ]);
    const { vars } = html ? await run.run([{ type: 'html', save_as: 'html' }]) : { vars: {} as Record<string, unknown> };
    return { final_url: run.url(), html: html ? String(vars['html']) : null };
  },
});
