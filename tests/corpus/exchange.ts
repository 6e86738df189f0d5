/** The types and builders of the corpus. */
import type { BlockType, BlockVendor } from '@berth/contract';

/** A complete reply of a site and its expected classification. All replies are written for this corpus. */
export interface Exchange {
  /** Unique. */
  name: string;
  /** The path under which it is served. */
  path: string;
  status: number;
  headers: Readonly<Record<string, string | readonly string[]>>;
  body: string | Buffer;
  expected: Expected;
}

export interface Expected {
  blocked: boolean;
  type: BlockType | null;
  vendor: BlockVendor | null;
  /** `<type>:<vendor>` of the expected warning; absent when none is expected. */
  warning: string | null;
  /** The vendor of the page's captcha. */
  captcha: BlockVendor | null;
}

type Reply = Partial<Pick<Exchange, 'status' | 'headers' | 'body' | 'path'>> & { warning?: string; captcha?: BlockVendor };

/** A block page: HTML with status 403 by default. */
export function block(vendor: BlockVendor, type: BlockType, name: string, reply: Reply): Exchange {
  return exchange(`${vendor}: ${name}`, { status: 403, ...reply }, { blocked: true, type, vendor });
}

/** A page that only resembles a block page: HTML with status 200 by default. */
export function lookalike(name: string, reply: Reply): Exchange {
  return exchange(name, { status: 200, ...reply }, { blocked: false, type: null, vendor: null });
}

function exchange(
  name: string,
  reply: Reply & { status: number },
  classification: Pick<Expected, 'blocked' | 'type' | 'vendor'>,
): Exchange {
  const { status, headers, body = '', path, warning = null, captcha = null } = reply;
  return {
    name,
    path: path ?? `/${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`,
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
    body,
    expected: { ...classification, warning, captcha },
  };
}

export const page = (title: string, body: string, head = ''): string =>
  `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>${title}</title>\n${head}</head>\n<body>\n${body}\n</body>\n</html>\n`;

/** Enough text that the page is not classified as a notice. */
export const article = (subject: string): string =>
  [
    `<p>This morning a reader asked us about ${subject}, and the short answer did not fit into a letter.</p>`,
    '<p>The harbour office keeps a ledger for every quay. Boats that come in before noon are written in blue, the others in black,',
    'and at the end of the week somebody adds the columns and compares them with the pilots’ notes. It sounds dull, and it is,',
    'yet a great part of what follows can be understood from that habit alone. Whoever has kept a ledger knows that the errors',
    'are never where one looks for them first.</p>',
    '<p>So we went through the examples one by one, wrote down what each of them showed, and only then drew a conclusion.',
    'The conclusion is printed below, together with the table that it rests on and with the names of those who helped us.</p>',
  ].join('\n');

export const json = (value: unknown): Pick<Exchange, 'body'> & { headers: Record<string, string> } => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});
