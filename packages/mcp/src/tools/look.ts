/** Looking at a page: as a tree with references, or as an image. */
import { targetOf } from '@berth/sdk';
import { z } from 'zod';
import type { Answer } from '../answer.ts';
import { takeSnapshot } from '../snapshots.ts';
import { tool } from '../tool.ts';
import { after, maxTokens, session, tab, target } from './inputs.ts';

export const snapshot = tool({
  name: 'snapshot',
  family: 'browse',
  description: 'Show the page as a tree with refs. Cheaper with `scope` (ref or selector) or `find` (text).',
  input: z.object({
    session,
    mode: z.enum(['interactive', 'full']).default('interactive'),
    scope: target.optional(),
    find: z.string().max(500).optional(),
    after: after.describe('cursor of the reply before'),
    max_tokens: maxTokens,
    tab,
  }),
  isReadOnly: true,
  run: ({ session, max_tokens: maxTokens = 2000, ...rest }, context) => takeSnapshot(context, session, { ...rest, maxTokens }),
});

/** Models see no more of a wider one. */
const widthMax = 1024;

export const screenshot = tool({
  name: 'screenshot',
  family: 'browse',
  description: 'Take an image of the page or an element.',
  input: z.object({ session, ref: target.optional(), full: z.boolean().optional(), tab }),
  isReadOnly: true,
  async run({ session, ref, full = false, tab }, { berth, options }): Promise<Answer> {
    const request = { format: 'jpeg' as const, quality: 70, ...(tab === undefined ? {} : { tab_id: tab }) };
    if (ref === undefined && !full) {
      const { screenshot: seen } = await berth.sessions.computer(session, { ...request, max_width: widthMax }, options);
      return seen === null
        ? { head: ['There is no picture: a dialog of the page may be open.'], isError: true }
        : { head: [`${seen.width} × ${seen.height} px`], image: { data: seen.data_base64, mimeType: seen.content_type } };
    }
    const picture = await berth.sessions.screenshot(
      session,
      { ...request, full_page: full, ...(ref === undefined ? {} : elementOf(ref)) },
      options,
    );
    // Models scale a tall image until nothing can be read: the first part of it is worth more.
    const data = picture.data_base64 ?? picture.tiles?.[0]?.data_base64 ?? '';
    const isCut = picture.data_base64 === null ? 'The page is taller: this is its first part.' : null;
    return { head: [`${picture.width} × ${picture.height} px`, isCut], image: { data, mimeType: picture.content_type } };
  },
});

function elementOf(target: string): object {
  const element = targetOf(target);
  return 'ref' in element ? element : { selector: target };
}
