/** Commands that read a page: content, pictures, cookies, traffic. */
import { writeFileSync } from 'node:fs';
import type { ConsoleLineResponse, StorageState } from '@berth/sdk';
import type { Action, Context } from '../context.ts';
import { CommandError, exitCodes, usageError } from '../failures.ts';
import { renderTable, report, stream, type Report } from '../output.ts';
import { toUrl } from './pages.ts';
import { contentOf, refuseFailure, renderContent } from './outcome.ts';
import { outputOf, runStep, runSteps, toTarget } from './steps.ts';

const contentFormats = ['markdown', 'text', 'html', 'links'] as const;

export const read: Action = async (context) => {
  const { options, signal } = context;
  const berth = await context.berth();
  const format = (options.text('format') ?? 'markdown') as (typeof contentFormats)[number];
  if (!contentFormats.includes(format)) throw usageError(`--format is one of ${contentFormats.join(', ')}.`);
  const [word] = context.args;
  const main = options.flag('main');
  if (word !== undefined) return readUrl(context, toUrl(word), format);
  const session = context.session();
  const tab = session.tabId === undefined ? {} : { tab_id: session.tabId };
  const page = await berth.sessions.content(session.id, { format, ...(main ? { only_main_content: true } : {}), ...tab }, { signal });
  return report(page, (seen) => seen.content ?? (seen.links ?? []).map(({ url, text }) => `${url}  ${text ?? ''}`).join('\n'));
};

/** Reads an address without a session. */
async function readUrl(context: Context, url: string, format: (typeof contentFormats)[number]): Promise<Report> {
  const berth = await context.berth();
  const main = context.options.flag('main') ? { only_main_content: true } : {};
  const page = await berth.fetch(url, { formats: [format], ...main }, { signal: context.signal });
  refuseFailure(page);
  return report(page, (seen) => renderContent(contentOf(seen, format)));
}

const textOf = { text: 'text', html: 'html', value: 'value' } as const;

export const get: Action = async (context) => {
  const [what = '', target, name] = context.args;
  if (what === 'url' || what === 'title') {
    const berth = await context.berth();
    const session = context.session();
    const tabs = await berth.sessions.tabs.list(session.id, { signal: context.signal });
    const tab = tabs.find((each) => (session.tabId === undefined ? each.active : each.tab_id === session.tabId)) ?? tabs[0];
    return report({ [what]: tab?.[what] ?? null }, (seen) => seen[what] ?? '');
  }
  if (target === undefined) throw usageError(`get ${what} needs an element.`, 'berth get text @e1');
  const as = textOf[what as keyof typeof textOf];
  if (as === undefined && what !== 'attr')
    throw usageError(`get knows text, html, value, attr, url and title, not ${JSON.stringify(what)}.`);
  if (what === 'attr' && name === undefined) throw usageError('get attr needs the name of the attribute.', 'berth get attr @e1 href');
  const reading = as === undefined ? { attribute: name } : { as };
  const value = await outputOf<unknown>(context, { type: 'extract', ...toTarget(target), ...reading });
  return report({ [what]: value }, () => (typeof value === 'string' ? value : JSON.stringify(value)));
};

/** An element that is not in the state now will not be waited for. */
const lookMs = 100;

export const is: Action = async (context) => {
  const [state = '', target = ''] = context.args;
  if (!['visible', 'enabled', 'checked'].includes(state)) throw usageError('is knows visible, enabled and checked.');
  const value = await runSteps(context, [{ type: 'assert', ...toTarget(target), [state]: true, timeout_ms: lookMs }]).then(
    () => true,
    (error: unknown) => {
      if (error instanceof CommandError && error.exitCode === exitCodes.step) return false;
      throw error;
    },
  );
  return report({ [state]: value }, () => String(value));
};

export const evaluate: Action = async (context) => {
  const expression = context.options.flag('stdin') ? await readStdin() : context.args.join(' ');
  if (expression.trim() === '') throw usageError('eval needs an expression.', "berth eval 'document.title'");
  const value = await outputOf<unknown>(context, { type: 'evaluate', expression });
  return report(value ?? null, (seen) => (typeof seen === 'string' ? seen : JSON.stringify(seen, null, 2)));
};

/** The text that is piped in: as much as a body of the service may have. */
const stdinBytesMax = 16 * 1024 * 1024;

export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > stdinBytesMax) throw usageError('More than 16 MiB on standard input.');
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A file that is written, or the bytes on standard output for the name `-`. */
async function save(context: Context, path: string, bytes: Buffer, fields: Record<string, unknown>): Promise<Report | undefined> {
  if (path === '-') {
    await context.output.writeBytes(bytes);
    return undefined;
  }
  writeFileSync(path, bytes);
  return report({ path, bytes: bytes.length, ...fields }, (seen) => seen.path);
}

/** A name that sorts by time. */
const nameNow = (extension: string): string => `berth-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.${extension}`;

export const screenshot: Action = async (context) => {
  const { options } = context;
  const berth = await context.berth();
  const session = context.session();
  const [path] = context.args;
  const format =
    options.text('format') ?? (path?.endsWith('.jpg') || path?.endsWith('.jpeg') ? 'jpeg' : path?.endsWith('.webp') ? 'webp' : 'png');
  const quality = options.number('quality');
  const picture = await berth.sessions.screenshot(
    session.id,
    {
      format: format as 'png',
      ...(options.flag('full') ? { full_page: true } : {}),
      ...(options.flag('annotate') ? { annotate: true } : {}),
      ...(quality === undefined ? {} : { quality }),
      ...(session.tabId === undefined ? {} : { tab_id: session.tabId }),
    },
    { signal: context.signal },
  );
  const { data_base64, tiles, ...fields } = picture;
  const pieces = data_base64 === null ? (tiles ?? []).map((tile) => tile.data_base64) : [data_base64];
  const file = path ?? nameNow(format === 'jpeg' ? 'jpg' : format);
  if (pieces.length === 1) return save(context, file, Buffer.from(pieces[0] ?? '', 'base64'), fields);
  if (file === '-') throw usageError('The picture comes in several tiles: name a file.');
  const paths = pieces.map((_, index) => file.replace(/(\.[^./]*)?$/, `-${index + 1}$1`));
  paths.forEach((each, index) => writeFileSync(each, Buffer.from(pieces[index] ?? '', 'base64')));
  return report({ paths, ...fields }, (seen) => seen.paths.join('\n'));
};

export const pdf: Action = async (context) => {
  const { options } = context;
  const berth = await context.berth();
  const session = context.session();
  const document = await berth.sessions.pdf(
    session.id,
    {
      ...(options.flag('landscape') ? { landscape: true } : {}),
      ...(options.flag('background') ? { print_background: true } : {}),
      ...(session.tabId === undefined ? {} : { tab_id: session.tabId }),
    },
    { signal: context.signal },
  );
  const { data_base64, ...fields } = document as typeof document & { data_base64: string };
  return save(context, context.args[0] ?? nameNow('pdf'), Buffer.from(data_base64, 'base64'), fields);
};

/** The whole state of the storage has cookies of all sites. Their values are passwords of sorts, and shown only on request. */
export const cookies: Action = async (context) => {
  const [word, name, value] = context.args;
  if (word === 'set') return setCookie(context, name, value);
  const berth = await context.berth();
  const state = await berth.sessions.storageState(context.session().id, { signal: context.signal });
  if (word === 'export') {
    if (name === undefined) throw usageError('cookies export needs a file.', 'berth cookies export state.json');
    writeFileSync(name, JSON.stringify(state, null, 2), { mode: 0o600 });
    return report({ path: name, cookies: state.cookies.length });
  }
  if (word !== undefined) throw usageError(`cookies knows set and export, not ${JSON.stringify(word)}.`);
  return report(shownCookies(state, context.options.flag('values')), (rows, paint) =>
    renderTable(
      rows,
      [
        ['name', (row) => row.name],
        ['value', (row) => row.value],
        ['domain', (row) => row.domain],
        ['path', (row) => row.path],
      ],
      paint,
    ),
  );
};

const shownCookies = ({ cookies: all }: StorageState, withValues: boolean): StorageState['cookies'] =>
  withValues ? all : all.map((cookie) => ({ ...cookie, value: '…' }));

function setCookie(context: Context, name: string | undefined, value: string | undefined): Promise<Report> {
  if (name === undefined || value === undefined) throw usageError('cookies set needs a name and a value.', 'berth cookies set theme dark');
  const url = context.options.text('url');
  return runStep(context, { type: 'set_cookie', name, value, ...(url === undefined ? {} : { url }) });
}

interface HarEntry {
  request: { method: string; url: string };
  response: { status: number; content?: { mimeType?: string } };
  time: number;
}
const entriesOf = (har: object): HarEntry[] => (har as { log?: { entries?: HarEntry[] } }).log?.entries ?? [];

export const har: Action = async (context) => {
  const berth = await context.berth();
  const traffic = await berth.sessions.har(context.session().id, { signal: context.signal });
  const [path] = context.args;
  if (path === undefined) return report(traffic, (seen, paint) => renderTraffic(entriesOf(seen), paint));
  return save(context, path, Buffer.from(JSON.stringify(traffic)), { requests: entriesOf(traffic).length });
};

export const network: Action = async (context) => {
  const berth = await context.berth();
  const traffic = await berth.sessions.har(context.session().id, { signal: context.signal });
  const filter = context.options.text('filter') ?? '';
  const rows = entriesOf(traffic)
    .filter(({ request }) => request.url.includes(filter))
    .map(({ request, response, time }) => ({
      method: request.method,
      url: request.url,
      status: response.status,
      type: response.content?.mimeType ?? '',
      duration_ms: Math.round(time),
    }));
  return report(rows, (seen, paint) =>
    renderTable(
      seen,
      [
        ['method', (row) => row.method],
        ['status', (row) => row.status],
        ['type', (row) => row.type],
        ['ms', (row) => row.duration_ms],
        ['url', (row) => row.url],
      ],
      paint,
    ),
  );
};

const renderTraffic = (entries: readonly HarEntry[], paint: Parameters<typeof renderTable>[2]): string =>
  renderTable(
    entries,
    [
      ['method', ({ request }) => request.method],
      ['status', ({ response }) => response.status],
      ['url', ({ request }) => request.url],
    ],
    paint,
  );

export const console: Action = async (context) => {
  const berth = await context.berth();
  const lines = await berth.sessions.console(context.session().id, {}, { signal: context.signal });
  const errorsOnly = context.options.flag('errors');
  const shown = lines.filter(({ level }) => !errorsOnly || level === 'error');
  return report(shown, (seen, paint) => seen.map((line) => renderLine(line, paint)).join('\n'));
};

type Painting = Parameters<NonNullable<Report['render']>>[1];
const renderLine = ({ level, text, url, line }: ConsoleLineResponse, paint: Painting): string => {
  const place = url === null ? '' : paint.dim(` ${url}:${line ?? 0}`);
  return `${level === 'error' ? paint.red(level) : level === 'warning' ? paint.yellow(level) : paint.dim(level)} ${text}${place}`;
};

export const downloads: Action = async (context) => {
  const berth = await context.berth();
  const { id } = context.session();
  const [word, path] = context.args;
  if (word === undefined) return report(await berth.sessions.downloads.list(id, { signal: context.signal }));
  const response = await berth.sessions.downloads.get(id, word, { signal: context.signal });
  return save(context, path ?? '-', Buffer.from(await response.arrayBuffer()), { download_id: word });
};

export const logs: Action = async (context) => {
  const berth = await context.berth();
  const { id } = context.session();
  // 0 asks for all events that are retained.
  const options = { signal: context.signal, lastEventId: 0 } as Parameters<typeof berth.sessions.events>[1];
  const events = berth.sessions.events(id, options);
  const all = context.options.flag('follow') ? events : untilQuiet(events);
  return stream(all, (event, paint) => `${paint.dim(event.at)} ${event.type} ${JSON.stringify(event.data)}`);
};

/** Retained events come at once; what comes after a pause is new. */
const quietMs = 1000;

async function* untilQuiet<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined;
      const quiet = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, quietMs, undefined)));
      const next = await Promise.race([iterator.next(), quiet]);
      clearTimeout(timer);
      if (!next || next.done === true) return;
      yield next.value;
    }
  } finally {
    // It waits for the event that did not come, so it is not waited for.
    void iterator.return?.();
  }
}
