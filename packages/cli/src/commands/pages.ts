/** Opening pages, moving between them and their tabs, and the end of a session. */
import type { NavigateResponse, TabResponse } from '@berth/sdk';
import type { Action } from '../context.ts';
import { usageError } from '../failures.ts';
import { renderTable, report } from '../output.ts';
import { findOrCreate } from '../sessions.ts';
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
