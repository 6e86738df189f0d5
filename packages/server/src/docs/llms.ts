/** The lists for language models, in the form of llmstxt.org: what there is to read, and all of it in one text. */
import type { Guides } from './guides.ts';
import type { ReferenceDocument } from './reference/reference-document.ts';
import { addressOf } from './reference/reference-page.ts';

const summary =
  '# Berth\n\n> A self-hosted browser cloud. It runs Chromium browsers, each in a machine of its own; programs drive them over HTTP, with Playwright or Puppeteer, with clients for TypeScript and Python, with the command line `berth`, or over MCP.\n';

/** Every page as a link to its Markdown. */
export function llmsText(origin: string, guides: Guides, reference: ReferenceDocument): string {
  const sections = guides.sections.map(
    ({ title, links }) =>
      `## ${title}\n\n${links
        .map(({ label, address, description }) => `- [${label}](${origin}${address}.md)${description === '' ? '' : `: ${description}`}`)
        .join('\n')}\n`,
  );
  const operations = reference.tags.map(
    ({ name, operations: entries }) =>
      `## API: ${name}\n\n${entries
        .map((entry) => `- [${entry.summary}](${origin}${addressOf(entry)}.md): ${entry.method} ${entry.path}`)
        .join('\n')}\n`,
  );
  const documents = `## Documents for programs\n\n- [OpenAPI 3.1](${origin}/openapi.json): every endpoint and field\n- [Everything in one text](${origin}/llms-full.txt)\n`;
  return [summary, ...sections, ...operations, documents].join('\n');
}

/** The guides of the index whole, and the operations in a line each: their fields are in the OpenAPI document. */
export function llmsFullText(origin: string, guides: Guides, reference: ReferenceDocument): string {
  const pages = guides.sections
    .flatMap(({ links }) => links)
    .filter(({ address }) => guides.addresses.includes(address))
    .map(({ address }) => guides.markdown(address, origin));
  const operations = reference.tags.map(
    ({ name, operations: entries }) =>
      `## ${name}\n\n${entries.map(({ method, path, summary: text, description }) => `- \`${method} ${path}\`: ${text}. ${description}`.trim()).join('\n')}\n`,
  );
  return [summary, ...new Set(pages), '# Endpoints\n', ...operations].join('\n');
}
