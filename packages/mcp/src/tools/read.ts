/** Reading what a page says, and values of it. */
import { BerthError, targetOf, type StepResult } from '@berth/sdk';
import { z } from 'zod';
import { inLine, type Answer } from '../answer.ts';
import { fittingLength, roughTokens } from '../tokens.ts';
import { tool, type ToolContext } from '../tool.ts';
import { after, maxTokens, session, tab, target, url } from './inputs.ts';

export const read = tool({
  name: 'read',
  family: 'browse',
  description: 'Read text as Markdown: of a session’s page, of an element (`ref`), or of a `url` without a session.',
  input: z.object({
    session: session.optional(),
    url: url.optional(),
    ref: target.optional(),
    only_main: z.boolean().optional(),
    after,
    max_tokens: maxTokens,
    tab,
  }),
  async run({ session, url, ref, only_main: onlyMain = false, after, max_tokens: tokens = 3000, tab }, context) {
    if (session === undefined) {
      if (url === undefined) return { head: ['`read` needs a `session` or a `url`.'], isError: true };
      return readUrl(context, { url, onlyMain, after, tokens });
    }
    if (url !== undefined)
      await context.berth.sessions.navigate(session, { url, ...(tab === undefined ? {} : { tab_id: tab }) }, context.options);
    const text =
      ref === undefined ? await readPage(context, session, { onlyMain, tab }) : await readElement(context, session, { ref, tab });
    return pageFrom(text, { after, tokens });
  },
});

async function readPage(
  { berth, options }: ToolContext,
  session: string,
  { onlyMain, tab }: { onlyMain: boolean; tab: string | undefined },
): Promise<string> {
  const query = { format: 'markdown' as const, only_main_content: onlyMain, ...(tab === undefined ? {} : { tab_id: tab }) };
  const { content, title, url } = await berth.sessions.content(session, query, options);
  return `${inLine(title, 200)}\n${inLine(url)}\n\n${content ?? ''}`;
}

async function readElement(
  { berth, options }: ToolContext,
  session: string,
  { ref, tab }: { ref: string; tab: string | undefined },
): Promise<string> {
  const step = { type: 'markdown' as const, ...targetOf(ref) };
  const { results } = await berth.sessions.act(session, { actions: [step], ...(tab === undefined ? {} : { tab_id: tab }) }, options);
  return outputOf(results[0]) as string;
}

async function readUrl(
  { berth, options }: ToolContext,
  { url, onlyMain, after, tokens }: { url: string; onlyMain: boolean; after: string | undefined; tokens: number },
): Promise<Answer> {
  const reply = await berth.fetch(url, { formats: ['markdown'], mode: 'auto', only_main_content: onlyMain, timeout_ms: 50_000 }, options);
  const answer = pageFrom(`${inLine(reply.title ?? '', 200)}\n${inLine(reply.final_url ?? url)}\n\n${reply.markdown ?? ''}`, {
    after,
    tokens,
  });
  const problem = reply.error ? `${reply.error.code}: ${reply.error.message}` : `blocked: ${reply.block?.type ?? 'unknown'}`;
  return reply.status === 'ok' ? answer : { ...answer, head: [inLine(problem, 500)], isError: true };
}

/** The part of a text from a cursor on that the tokens suffice for. The cursor is a position, so nothing is kept between two calls. */
export function pageFrom(text: string, { after, tokens }: { after?: string | undefined; tokens: number }): Answer {
  const start = /^\d{1,9}$/.test(after ?? '') ? Math.min(Number(after), text.length) : 0;
  const rest = text.slice(start);
  const length = fittingLength(rest, tokens);
  if (length === rest.length) return { page: rest };
  const left = rest.length - length;
  return { page: rest.slice(0, length), tail: [`about ${roughTokens(left)} tokens left: read with after "${start + length}"`] };
}

const Field = z.union([z.string().max(2000), z.looseObject({ selector: z.string().max(2000).optional() })]);

export const extract = tool({
  name: 'extract',
  family: 'browse',
  description:
    'Values of the page as JSON. `fields`: name → selector, or {selector, attribute, as: number|url|date…, list}. With `rows`, an object for each match of that selector.',
  input: z.object({ session, fields: z.record(z.string().max(64), Field), rows: target.optional(), tab }),
  isReadOnly: true,
  async run({ session, fields, rows, tab }, { berth, options }) {
    const named = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toApiField(field)]));
    const step = { type: 'extract', fields: named, ...(rows === undefined ? {} : { selectors: [rows], list: true }) };
    const body = { actions: [step as never], ...(tab === undefined ? {} : { tab_id: tab }) };
    const { results } = await berth.sessions.act(session, body, options);
    return jsonAnswer(outputOf(results[0]));
  },
});

function toApiField(field: z.infer<typeof Field>): object {
  if (typeof field === 'string') return { selectors: [field] };
  const { selector, ...rest } = field;
  return { ...(selector === undefined ? {} : { selectors: [selector] }), ...rest };
}

/** Of a step that failed, its error is that of the call. */
export function outputOf(result: StepResult | undefined): unknown {
  if (result?.status === 'ok') return result.output;
  throw new BerthError({ code: result?.error?.code ?? 'failed', message: result?.error?.message ?? 'The step did not run.' });
}

const jsonTokens = 3000;

/** JSON within the budget: of a list as many items as fit, and how many are left. */
export function jsonAnswer(value: unknown): Answer {
  const text = JSON.stringify(value) ?? 'null';
  if (fittingLength(text, jsonTokens) === text.length) return { page: text };
  if (!Array.isArray(value)) return { page: text.slice(0, fittingLength(text, jsonTokens)), tail: ['cut: ask for fewer fields'] };
  const [items, count] = firstItems(value);
  return {
    page: `[${items}]`,
    tail: [`${value.length - count} of ${value.length} items left out: ask for fewer fields, or for a part of the page`],
  };
}

/** Each item is counted by itself, so that the whole stays linear. */
function firstItems(list: readonly unknown[]): [items: string, count: number] {
  const items: string[] = [];
  let room = jsonTokens;
  for (const item of list) {
    const text = JSON.stringify(item) ?? 'null';
    room -= roughTokens(text.length) + 1;
    if (room < 0) break;
    items.push(text);
  }
  return [items.join(',\n'), items.length];
}
