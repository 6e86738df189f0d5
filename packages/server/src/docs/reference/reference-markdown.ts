/** The pages of the API reference as Markdown, for language models and whoever saves them. */
import { languages, type Language } from '../code.ts';
import type { OperationPage, TagEntry } from './reference-document.ts';
import { addressOf } from './reference-page.ts';
import type { Content, FieldShape } from './schema-shape.ts';

const fences: Readonly<Record<Language, string>> = { curl: 'sh', typescript: 'ts', python: 'python', cli: 'sh' };

export const indexMarkdown = (tags: readonly TagEntry[], introduction: string): string =>
  [
    `# API reference\n\n${introduction}\n`,
    ...tags.map(
      ({ name, description, operations }) =>
        `## ${name}\n\n${description}\n\n${operations
          .map((entry) => `- [${entry.summary}](${addressOf(entry)}.md): \`${entry.method} ${entry.path}\``)
          .join('\n')}\n`,
    ),
  ].join('\n');

export function operationMarkdown(page: OperationPage): string {
  const { reply, body } = page;
  return `${[
    `# ${page.summary}`,
    `\`${page.method} ${page.path}\``,
    page.description,
    `Credential: ${page.credential}`,
    ...page.parameters.map(({ title, fields }) => `## ${title}\n\n${list(fields)}`),
    ...(body
      ? [`## Body\n\n${body.isRequired ? 'Required' : 'Optional'}, as ${body.types.join(' or ')}.\n\n${contentOf(body.content)}`]
      : []),
    `## Reply\n\nStatus ${reply.status}, ${reply.type}.\n\n${contentOf(reply.content)}`,
    ...(reply.example === null ? [] : [`\`\`\`json\n${reply.example}\n\`\`\``]),
    `## Errors\n\n| Code | Status | Retry | When it occurs, and what to do |\n| --- | --- | --- | --- |\n${page.errors
      .map(({ code, status, isRetryable, description }) => `| \`${code}\` | ${status} | ${isRetryable ? 'yes' : 'no'} | ${description} |`)
      .join('\n')}`,
    ...(page.samples.length === 0 ? [] : ['## Samples']),
    ...page.samples.map(({ language, code }) => `${languages[language]}:\n\n\`\`\`${fences[language]}\n${code}\n\`\`\``),
  ]
    .filter((part) => part !== '')
    .join('\n\n')}\n`;
}

const contentOf = (content: Content | null, indent = ''): string => {
  if (!content) return '';
  if (content.kind === 'repeated') return `${indent}- as \`${content.name}\` above`;
  if (content.kind === 'fields') return list(content.fields, indent);
  const common = content.common.length === 0 ? '' : `${indent}- in all forms:\n${list(content.common, `${indent}  `)}\n`;
  const variants = content.variants
    .map(({ title, description, content: inner }) => `${indent}- \`${title}\`: ${oneLine(description)}\n${contentOf(inner, `${indent}  `)}`)
    .join('\n');
  return `${common}${variants}`;
};

const list = (fields: readonly FieldShape[], indent = ''): string =>
  fields
    .map(({ name, type, isRequired, description, facts, content }) => {
      const head = `${indent}- \`${name}\` (${type}${isRequired ? '' : ', optional'}): ${oneLine([description, ...facts].join(' '))}`;
      return content ? `${head}\n${contentOf(content, `${indent}  `)}` : head;
    })
    .join('\n');

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
