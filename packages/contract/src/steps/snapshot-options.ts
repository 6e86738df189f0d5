/** Options that the snapshot endpoint and the snapshot step have in common. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';

export const snapshotTokens = { min: 100, max: 32_000, default: 4000 } as const;

export const SnapshotMode = z
  .enum(['interactive', 'full'])
  .describe('`interactive`: what can be operated, with headings, landmarks and messages. `full`: also texts, lists, tables and images.');

/** What the endpoint, the step and the format of a fetch have in common. */
export const snapshotFields = {
  find: boundedString(1, 500)
    .optional()
    .describe(
      'Only what matches, with what is around it: a part of the role, name, value or row in any case, `"the whole text"`, or `/a regular expression/` with the flags `imsuv`. Default: everything.',
    ),
  after: boundedString(1, 40)
    .optional()
    .describe('Cursor `left.after` of the snapshot before, to go on where it ended. Default: from the start.'),
  since: boundedString(1, 40)
    .optional()
    .describe('`snapshot_id` of one of the last four snapshots of the tab: only what has changed since. Default: everything.'),
};

export const tokensText = `Maximum size in tokens, ${snapshotTokens.min} to ${snapshotTokens.max}, as far as they can be estimated. Default: ${snapshotTokens.default}.`;

export const SnapshotOptions = z.strictObject({
  mode: SnapshotMode.default('interactive').describe(
    '`interactive`: what can be operated, with headings, landmarks and messages. `full`: also texts, lists, tables and images. Default: `interactive`.',
  ),
  ...snapshotFields,
  max_tokens: z.int().min(snapshotTokens.min).max(snapshotTokens.max).default(snapshotTokens.default).describe(tokensText),
  boxes: z.boolean().default(false).describe('Whether to add the place of each element in the visible area. Default: `false`.'),
  urls: z.boolean().default(false).describe('Whether to add the URLs of links. Default: `false`.'),
});
export type SnapshotOptions = z.infer<typeof SnapshotOptions>;

export const SnapshotBox = {
  x: z.int().describe('Distance from the left in CSS pixels.'),
  y: z.int().describe('Distance from the top in CSS pixels.'),
  width: z.int().describe('Width in CSS pixels.'),
  height: z.int().describe('Height in CSS pixels.'),
};
