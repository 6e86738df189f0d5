import { z } from 'zod';
import { defineFlow } from '../flow.ts';
import { Url, literal, selectorsInput } from '../inputs.ts';
import { mediaTypeOf } from '../read/media-type.ts';
import { UrlPattern, matches } from './crawl.ts';

const megabyte = 1_000_000;
const linksMax = 1000;
/** The download, and its digest. */
const stepsPerFile = 2;

const inputs = z
  .strictObject({
    url: Url,
    link_selectors: selectorsInput('The links to the files:').optional(),
    pattern: UrlPattern.optional().describe(
      'Only links whose URL contains this text; with `*`, the whole URL, where each `*` matches anything.',
    ),
    max_files: z.int().min(1).max(50).default(10).describe('Maximum number of files, 1 to 50. Default: 10.'),
    max_bytes: z
      .int()
      .min(1)
      .max(1000 * megabyte)
      .default(100 * megabyte)
      .describe('Maximum size of all files together in bytes, 1 to 1000000000. Default: 100000000.'),
  })
  .check(({ value, issues }) => {
    if (value.link_selectors === undefined && value.pattern === undefined)
      issues.push({ code: 'custom', message: 'link_selectors or pattern is required', input: value, params: { type: 'missing' } });
  });

const output = z.object({
  files: z
    .array(
      z.object({
        file_id: z.string().describe('Id, for `GET /v1/session/{session_id}/downloads/{download_id}` with `keep_session`.'),
        name: z.string().describe('File name that the site suggests.'),
        url: z.string().describe('URL of the link.'),
        bytes: z.int().describe('Size in bytes.'),
        sha256: z.string().describe('SHA-256 of the content, in hex.'),
        content_type: z.string().describe('Media type by the file name.'),
      }),
    )
    .describe('Files that were downloaded, in the order of their links.'),
  skipped: z
    .array(
      z.object({
        url: z.string().describe('URL of the link.'),
        code: z.string().describe('Why: `too_large`, or the error code of the step, such as `download_failed` for a link to a page.'),
      }),
    )
    .describe('Links without a file.'),
  links: z.int().describe('Number of links that match.'),
  final_url: z.string().describe('URL of the page.'),
});

type Output = z.infer<typeof output>;

export const downloadFiles = defineFlow({
  name: 'download_files',
  title: 'Download files',
  description: 'Downloads the files that a page links to. Send `keep_session` to read them afterwards.',
  version: '1',
  category: 'capture',
  inputs,
  output,
  example: { url: 'https://example.com/reports', pattern: '.pdf', max_files: 5 },
  needsSession: () => true,
  run: async (run, { url, link_selectors: selectors = ['a[href]'], pattern, max_files: filesMax, max_bytes: bytesMax }) => {
    await run.open(url);
    const page = run.url();
    const { vars } = await run.run([
      { type: 'extract', selectors: literal(selectors), attribute: 'href', as: 'url', list: true, limit: linksMax, save_as: 'links' },
    ]);
    const links = [...new Set(vars['links'] as (string | null)[])].filter(
      (link): link is string => link !== null && /^https?:/.test(link) && (pattern === undefined || matches(pattern, link)),
    );
    const files: Output['files'] = [];
    const skipped: Output['skipped'] = [];
    let bytesLeft = bytesMax;
    for (const link of links) {
      if (files.length >= filesMax || run.isNearEnd(stepsPerFile)) break;
      const { results, vars: saved } = await run.run([{ type: 'download', url: '{{inputs.link}}', optional: true, save_as: 'file' }], {
        link,
      });
      const file = saved['file'] as { download_id: string; file_name: string; bytes: number } | undefined;
      if (!file || file.bytes > bytesLeft) {
        skipped.push({ url: link, code: file ? 'too_large' : (results[0]?.error?.code ?? 'download_failed') });
        continue;
      }
      bytesLeft -= file.bytes;
      const { download_id: file_id, file_name: name, bytes } = file;
      const sha256 = await run.act('digest', () => run.digestOf(file_id));
      files.push({ file_id, name, url: link, bytes, sha256, content_type: mediaTypeOf(name) });
    }
    return { files, skipped, links: links.length, final_url: page };
  },
});
