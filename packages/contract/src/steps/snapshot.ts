/** Snapshots: a page as an accessibility tree whose elements have references for steps. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { driveDeadlineMs, driveErrors } from '../sessions/drive.ts';
import { endpoint } from '../endpoint.ts';
import { queryBool, queryInt, sessionParams } from '../fields.ts';
import { SnapshotBox, SnapshotOptions, snapshotFields, snapshotTokens, tokensText } from './snapshot-options.ts';

export const SnapshotNode = z
  .object({
    depth: z.int().describe('Level of the node in the tree, from 0.'),
    role: z.string().describe('ARIA role, or `text`, or `generic` for an element that is only clickable or scrolls.'),
    name: z.string().describe('Accessible name, or the text of a `text`.'),
    value: z.string().nullable().describe('Value of a field; null if it has none, or if that is secret.'),
    text: z.string().nullable().describe('Only text in the element, if that is not its name; null otherwise.'),
    states: z
      .record(z.string(), z.string())
      .describe('States that are set, such as `checked`, `disabled`, `expanded`, `level` and `focused`, with `true` or their value.'),
    options: z
      .object({ shown: z.array(z.string()).describe('First options, at most 12.'), more: z.int().describe('Number of other options.') })
      .nullable()
      .describe('Options of a selection; null for other elements.'),
    ref: z.string().nullable().describe('Reference for steps, such as `e12`; null for an element that has none.'),
    place: z.string().nullable().describe('Text that tells the row or card of the element from others; null outside of any.'),
    box: z.object(SnapshotBox).nullable().describe('Place of the element in the visible area; null unless `boxes` was sent.'),
    url: z.string().nullable().describe('URL of a link; null unless `urls` was sent.'),
  })
  .meta({ id: 'SnapshotNode' });
export type SnapshotNode = z.infer<typeof SnapshotNode>;

const snapshotResult = {
  snapshot_id: z.string().describe('Id of the snapshot, for `since`.'),
  tab_id: z.string().describe('Id of the tab.'),
  url: z.string().describe('URL of the page.'),
  title: z.string().describe('Title of the page.'),
  tokens: z.int().describe('Estimated size in tokens.'),
  left: z
    .object({
      nodes: z.int().describe('Number of nodes that are left.'),
      tokens: z.int().describe('Their estimated size in tokens.'),
      after: z.string().describe('Cursor to send as `after`.'),
    })
    .nullable()
    .describe('What the tokens did not suffice for; null if nothing is left.'),
  removed: z
    .array(z.string())
    .nullable()
    .describe('References whose elements are gone since the snapshot `since`, at most 50; null without it.'),
  warnings: z
    .array(z.string())
    .describe(
      'Warnings: `frames_left_out:2` for frames that did not answer or are too many, `page_too_large` if the page has more than 25,000 nodes, ' +
        '`since_not_found` if the snapshot is whole because the earlier one is unknown or of another part of the page.',
    ),
};

export const Snapshot = z
  .object({
    ...snapshotResult,
    format: z.enum(['text', 'json']).describe('Format of the snapshot.'),
    snapshot: z
      .string()
      .nullable()
      .describe('A line for each node, such as `- button "Buy" [ref=e3]`, indented by its level; null for `json`.'),
    nodes: z.array(SnapshotNode).nullable().describe('The nodes in document order; null for `text`.'),
  })
  .meta({ id: 'SnapshotResponse' });
export type { SnapshotOptions } from './snapshot-options.ts';
export type SnapshotResponse = z.infer<typeof Snapshot>;

export const getSnapshot = endpoint({
  id: 'getSnapshot',
  method: 'GET',
  path: '/v1/session/{session_id}/snapshot',
  tag: 'Driving',
  summary: 'Get a snapshot',
  description:
    'Returns the page as an accessibility tree, for language models and scripts. Elements have references, such as `e12`, which steps accept ' +
    'in place of selectors. A reference belongs to its document; it finds its element again after the page has drawn it anew, while role, ' +
    'name and place are the same. Values of passwords and one-time codes are never part of a snapshot.',
  auth: 'bearer',
  params: sessionParams,
  query: z.strictObject({
    mode: SnapshotOptions.shape.mode,
    ...snapshotFields,
    scope: boundedString(1, 2000)
      .optional()
      .describe(
        `Reference or selector of the element to read: \`e12\`, CSS, or any selector of the step language. Default: the whole page.`,
      ),
    max_tokens: queryInt(snapshotTokens.min, snapshotTokens.max).default(snapshotTokens.default).describe(tokensText),
    format: z.enum(['text', 'json']).default('text').describe('Format of the snapshot. Default: `text`.'),
    boxes: queryBool.default(false).describe('Whether to add the place of each element in the visible area. Default: `false`.'),
    urls: queryBool.default(false).describe('Whether to add the URLs of links. Default: `false`.'),
    tab_id: boundedString(1, 200).optional().describe('Id of the tab to use. Default: the active tab.'),
  }),
  reply: Snapshot,
  status: 200,
  errors: [...driveErrors, 'tab_not_found', 'ref_not_found', 'stale_ref', 'page_failed'],
  cost: 'action',
  deadlineMs: driveDeadlineMs,
});
