/** The shape of the corpus, and the few words its files are written in. */
import type { BlockType, BlockVendor } from '@berth/contract';

/** One reply of a site, whole, and what is true of it. All of it is written for this corpus. */
export interface Exchange {
  /** Unique. */
  name: string;
  /** Where it is served. */
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
  /** `<type>:<vendor>` where a warning is right. Elsewhere there is none. */
  warning: string | null;
  /** Whose captcha is on the page. */
  captcha: BlockVendor | null;
}

type Reply = Partial<Pick<Exchange, 'status' | 'headers' | 'body' | 'path'>> & { warning?: string; captcha?: BlockVendor };

/** A page that stands in the way. HTML with status 403 unless told otherwise. */
export function block(vendor: BlockVendor, type: BlockType, name: string, reply: Reply): Exchange {
  return exchange(`${vendor}: ${name}`, { status: 403, ...reply }, { blocked: true, type, vendor });
}

/** A page that is none, whatever it looks like. HTML with status 200 unless told otherwise. */
export function lookAlike(name: string, reply: Reply): Exchange {
  return exchange(name, { status: 200, ...reply }, { blocked: false, type: null, vendor: null });
}

function exchange(name: string, reply: Reply & { status: number }, verdict: Pick<Expected, 'blocked' | 'type' | 'vendor'>): Exchange {
  const { status, headers, body = '', path, warning = null, captcha = null } = reply;
  return {
    name,
    path: path ?? `/${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`,
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
    body,
    expected: { ...verdict, warning, captcha },
  };
}

export const page = (title: string, body: string, head = ''): string =>
  `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>${title}</title>\n${head}</head>\n<body>\n${body}\n</body>\n</html>\n`;

/** Enough to read that nobody would take the page for a notice. */
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
