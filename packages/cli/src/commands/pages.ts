/** Opening pages, moving between them and their tabs, and the end of a session. */
import type { Berth, CreateSessionRequest, NavigateResponse, TabResponse } from '@berth/sdk';
import type { Action, Context, OpenSession } from '../context.ts';
import { usageError } from '../failures.ts';
import { toPairs } from '../options.ts';
import { renderTable, report } from '../output.ts';
import { runStep } from './steps.ts';

export const open: Action = async (context) => {
  const berth = await context.berth();
  const [word] = context.args;
  const { session, isNew } = await findOrCreate(context, berth);
  if (word === undefined) return report({ session_id: session.id, is_new: isNew }, ({ session_id }) => session_id);
  const tab = session.tabId === undefined ? {} : { tab_id: session.tabId };
  const waitUntil = context.options.text('waitUntil') as NavigateResponse['status'] | undefined;
  const timeoutMs = context.options.number('timeout');
  const page = await berth.sessions.navigate(
    session.id,
    {
      url: toUrl(word),
      ...tab,
      ...(waitUntil === undefined ? {} : { wait_until: waitUntil as never }),
      ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    },
    { signal: context.signal },
  );
  const { final_url, title, status_code, tab_id, block, captcha, warnings } = page;
  const data = { session_id: session.id, is_new: isNew, url: final_url, title, status_code, tab_id, block, captcha, warnings };
  return report(data, (seen, paint) =>
    [
      `${paint.bold(seen.title || '(no title)')} ${paint.dim(`(${seen.status_code ?? 'no status'})`)}`,
      seen.url,
      ...(seen.block ? [paint.yellow(`blocked: ${seen.block.type}`)] : []),
      ...seen.warnings.map((text) => paint.yellow(`warning: ${text}`)),
    ].join('\n'),
  );
};

/** `shop.example` is what people type; a loopback address has no certificate. */
export function toUrl(word: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word) || /^(?:about|data|blob):/i.test(word)) return word;
  return /^(?:localhost|127\.|\[::1\])/.test(word) ? `http://${word}` : `https://${word}`;
}

async function findOrCreate(context: Context, berth: Berth): Promise<{ session: OpenSession; isNew: boolean }> {
  const found = context.options.flag('new') ? undefined : context.findSession();
  const file = context.sessionFile;
  if (found && (!file || (await isLive(berth, found.id, context.signal)))) return { session: found, isNew: false };
  const created = await berth.sessions.create(newSession(context), { signal: context.signal });
  const id = idOf(created);
  file?.write({ session_id: id });
  return { session: { id, tabId: undefined }, isNew: true };
}

/** The call that creates a session returns its record, or a handle with it. */
const idOf = (created: object): string => ('session_id' in created ? String(created.session_id) : String((created as { id: unknown }).id));

/** A session that has ended by itself is replaced without a word: pages of the old one are gone either way. */
async function isLive(berth: Berth, id: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await berth.sessions.get(id, { signal });
    return status === 'ready' || status === 'starting';
  } catch (error) {
    const status = (error as { status?: number }).status;
    if (status === 404 || status === 410) return false;
    throw error;
  }
}

function newSession({ options, sessionName }: Context): CreateSessionRequest {
  const profile = options.text('profile');
  const viewport = options.text('viewport');
  const proxy = options.text('proxy');
  const metadata = toPairs(options.list('metadata'), '--metadata');
  const fields = {
    name: sessionName,
    kind: options.flag('fullBrowser') ? ('full_browser' as const) : undefined,
    region: options.text('region'),
    timeout_seconds: options.number('lifetime'),
    idle_timeout_seconds: options.number('idle'),
    record: options.flag('record') || undefined,
    har: options.flag('har') || undefined,
    viewport: viewport === undefined ? undefined : toViewport(viewport),
    profile: profile === undefined ? undefined : { name: profile, save_changes: options.flag('saveProfile') },
    proxy: proxy === undefined ? undefined : { server: proxy },
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as CreateSessionRequest;
}

function toViewport(text: string): { width: number; height: number } {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  if (width === undefined) throw usageError('--viewport is given as WIDTHxHEIGHT, such as 1280x800.');
  return { width: Number(width), height: Number(height) };
}

export const back: Action = (context) => runStep(context, { type: 'back' });
export const forward: Action = (context) => runStep(context, { type: 'forward' });
export const reload: Action = (context) => runStep(context, { type: 'reload' });

export const end: Action = async (context) => {
  const berth = await context.berth();
  const { id } = context.session();
  // The id goes first: an interrupted command leaves no folder that points to an ended session.
  context.sessionFile?.remove();
  await berth.sessions.end(id, { signal: context.signal });
  return report({ session_id: id, status: 'ended' }, ({ session_id }) => `ended ${session_id}`);
};

/** Sessions that are listed at most; more are a matter of `berth api`. */
const sessionsMax = 100;

export const listSessions: Action = async (context) => {
  const berth = await context.berth();
  const status = context.options.flag('all') ? undefined : 'starting,ready,ending';
  const page = await berth.sessions.list({ limit: sessionsMax, ...(status === undefined ? {} : { status }) }, { signal: context.signal });
  const current = context.findSession()?.id;
  return report(page.items, (items, paint) =>
    renderTable(
      items,
      [
        ['', ({ session_id }) => (session_id === current ? '*' : '')],
        ['session', ({ session_id }) => session_id],
        ['name', ({ name }) => name],
        ['status', ({ status: each }) => each],
        ['url', ({ current_url }) => current_url],
        ['expires', ({ expires_at }) => expires_at],
      ],
      paint,
    ),
  );
};

/** Lists the tabs, opens one, selects one for the commands that follow, or closes one. */
export const tab: Action = async (context) => {
  const [word, argument] = context.args;
  const berth = await context.berth();
  const session = context.session();
  const { signal } = context;
  if (word === 'new') {
    const opened = await berth.sessions.tabs.open(session.id, argument === undefined ? {} : { url: toUrl(argument) }, { signal });
    context.sessionFile?.change({ tab_id: opened.tab_id });
    return report(opened);
  }
  const tabs = await berth.sessions.tabs.list(session.id, { signal });
  if (word === undefined) return listTabs(tabs, session.tabId);
  if (word !== 'close') {
    const chosen = findTab(tabs, word);
    context.sessionFile?.change({ tab_id: chosen.tab_id });
    return report(chosen);
  }
  const closing = findTab(tabs, argument ?? session.tabId ?? tabs.find(({ active }) => active)?.tab_id ?? '');
  await berth.sessions.tabs.close(session.id, closing.tab_id, { signal });
  if (closing.tab_id === session.tabId) context.sessionFile?.change({ tab_id: undefined });
  return report({ tab_id: closing.tab_id, status: 'closed' });
};

const listTabs = (tabs: readonly TabResponse[], selected: string | undefined): ReturnType<typeof report> =>
  report(
    tabs.map((each, index) => ({ index: index + 1, selected: selected === undefined ? each.active : each.tab_id === selected, ...each })),
    (rows, paint) =>
      renderTable(
        rows,
        [
          ['', (row) => (row.selected ? '*' : '')],
          ['#', (row) => row.index],
          ['title', (row) => row.title],
          ['url', (row) => row.url],
          ['tab', (row) => row.tab_id],
        ],
        paint,
      ),
  );

/** A tab by its place in the list, from 1, or by its id. */
function findTab(tabs: readonly TabResponse[], word: string): TabResponse {
  const found = tabs.find(({ tab_id }) => tab_id === word) ?? (/^\d{1,3}$/.test(word) ? tabs[Number(word) - 1] : undefined);
  if (!found) throw usageError(`There is no tab ${JSON.stringify(word)}.`, 'Run `berth tab` to see the tabs.');
  return found;
}
