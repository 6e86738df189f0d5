/** Flows that return the page as a file. */
import { ImageFormat, PdfOptions, Selectors } from '@berth/contract';
import { z } from 'zod';
import { defineFlow, type FlowStep } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { Url, literal, selectorsInput } from '../inputs.ts';
import { readAccessiblePage } from '../read/accessible-page.ts';
import { convertPage } from '../read/structured-data.ts';

const page = { title: z.string().describe('Title of the page.'), final_url: z.string().describe('URL of the page.') };

async function capture<T>(run: FlowRun, url: string, step: FlowStep): Promise<T & { title: string; final_url: string }> {
  await run.open(url);
  const { vars } = await run.run([{ ...step, save_as: 'file' }]);
  return { ...(vars['file'] as T), title: run.title(), final_url: run.url() };
}

const size = { width: z.int().describe('Width in pixels.'), height: z.int().describe('Height in pixels.') };
const bytes = z.string().describe('The image in base64.');
const Screenshot = z.object({
  content_type: z.string().describe('Media type.'),
  ...size,
  data_base64: bytes.optional().describe('The image in base64; absent if it is split into tiles.'),
  tiles: z
    .array(z.object({ data_base64: bytes, ...size, y: z.int().describe('Distance from the top in pixels.') }))
    .optional()
    .describe('Tiles of a very tall image, from top to bottom.'),
});

export const screenshot = defineFlow({
  name: 'screenshot',
  title: 'Take a screenshot',
  description: 'Opens a page and returns an image of it, or of one element.',
  version: '1',
  category: 'capture',
  inputs: z.strictObject({
    url: Url,
    full_page: z.boolean().default(true).describe('Whether to capture the full page instead of the visible area. Default: `true`.'),
    format: ImageFormat.default('png').describe('Image format. Default: `png`.'),
    quality: z.int().min(0).max(100).optional().describe('Image quality for `jpeg` and `webp`, 0 to 100.'),
    selectors: selectorsInput('A single element to capture:').optional(),
  }),
  output: Screenshot.extend(page),
  example: { url: 'https://example.com/', full_page: false },
  run: (run, { url, selectors, ...options }) =>
    capture<z.infer<typeof Screenshot>>(run, url, {
      type: 'screenshot',
      ...options,
      ...(selectors ? { selectors: literal(selectors), full_page: false } : {}),
    }),
});

const Pdf = z.object({
  content_type: z.string().describe('Media type.'),
  bytes: z.int().describe('Size in bytes.'),
  data_base64: z.string().describe('The document in base64.'),
});

export const pdf = defineFlow({
  name: 'pdf',
  title: 'Print a PDF',
  description: 'Opens a page and prints it to a PDF document.',
  version: '1',
  category: 'capture',
  inputs: PdfOptions.extend({ url: Url }),
  output: Pdf.extend(page),
  example: { url: 'https://example.com/', landscape: true },
  run: (run, { url, ...options }) => capture<z.infer<typeof Pdf>>(run, url, { type: 'pdf', ...options }),
});

const Ref = z.object({
  role: z.string().describe('Role of the element.'),
  name: z.string().describe('Name of the element.'),
  selectors: Selectors.describe('Selectors for steps.'),
});

export const accessibilityTree = defineFlow({
  name: 'accessibility_tree',
  title: 'Read the accessibility tree',
  description: 'Opens a page and returns what assistive technology reads of it, with references to the elements that can be used in steps.',
  version: '1',
  category: 'capture',
  inputs: z.strictObject({
    url: Url.optional().describe('URL of the page, `http` or `https`. Default: the page that is open in the session.'),
    max_nodes: z.int().min(1).max(5000).default(1000).describe('Maximum number of nodes, 1 to 5000. Default: 1000.'),
  }),
  output: z.object({
    tree: z.string().describe('A line for each node, such as `- button "Buy" [ref=e3]`, indented by its level. Frames are in their place.'),
    refs: z.record(z.string(), Ref).describe('The elements that take the focus or clicks, by their reference.'),
    nodes: z.int().describe('Number of nodes.'),
    truncated: z.boolean().describe('Whether the page has more nodes.'),
    frames_left_out: z.int().describe('Number of frames that did not answer, are too large, or are more than 30.'),
    ...page,
  }),
  example: { url: 'https://example.com/', max_nodes: 500 },
  run: async (run, { url, max_nodes: nodesMax }) => {
    if (url !== undefined) await run.open(url);
    const { isTruncated, framesLeftOut, ...read } = await run.act('accessibility_tree', () => readAccessiblePage(run, nodesMax));
    return { ...read, truncated: isTruncated, frames_left_out: framesLeftOut, title: run.title(), final_url: run.url() };
  },
});

export const snapshot = defineFlow({
  name: 'snapshot',
  title: 'Take a snapshot',
  description: 'Opens a page and returns its HTML after JavaScript has run, and its text.',
  version: '1',
  category: 'capture',
  inputs: z.strictObject({ url: Url }),
  output: z.object({
    html: z.string().describe('The document, at most 8 MB.'),
    text: z.string().describe('Visible text.'),
    ...page,
  }),
  example: { url: 'https://example.com/' },
  run: async (run, { url }) => {
    await run.open(url);
    const { vars } = await run.run([{ type: 'html', save_as: 'html' }]);
    const { text = '', title, warnings } = await convertPage(run, ['text']);
    for (const warning of warnings) run.warn(warning);
    return { html: String(vars['html']), text, title, final_url: run.url() };
  },
});
