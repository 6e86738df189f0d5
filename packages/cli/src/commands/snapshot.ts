/** The page in short lines with refs, and what has changed since. */
import type { GetSnapshotQuery, SnapshotResponse } from '@berth/sdk';
import type { Action, Context } from '../context.ts';
import { CommandError, exitCodes, usageError } from '../failures.ts';
import { report, type Report } from '../output.ts';

export const snapshot: Action = async (context) => {
  const { options } = context;
  if (options.flag('interactive') && options.flag('full')) throw usageError('A snapshot is either --interactive or --full.');
  return take(context, {
    mode: options.flag('full') ? 'full' : 'interactive',
    scope: options.text('scope')?.replace(/^@/, ''),
    find: options.text('find'),
    after: options.text('after'),
    max_tokens: options.number('maxTokens'),
    format: options.flag('nodes') ? 'json' : undefined,
    boxes: options.flag('boxes') || undefined,
    urls: options.flag('urls') || undefined,
  });
};

/** Compares with the latest snapshot that the command line has taken of the session. */
export const diff: Action = async (context) => {
  const since = context.options.text('since') ?? context.sessionFile?.read()?.snapshot_id;
  if (since === undefined)
    throw new CommandError(exitCodes.notFound, 'no_snapshot', 'There is no snapshot to compare with.', 'Run `berth snapshot` first.');
  return take(context, { since, mode: context.options.flag('full') ? 'full' : 'interactive' });
};

async function take(context: Context, query: GetSnapshotQuery): Promise<Report> {
  const berth = await context.berth();
  const session = context.session();
  const given = Object.fromEntries(Object.entries({ ...query, tab_id: session.tabId }).filter(([, value]) => value !== undefined));
  const taken = await berth.sessions.snapshot(session.id, given, { signal: context.signal });
  context.sessionFile?.change({ snapshot_id: taken.snapshot_id });
  return report(taken, renderSnapshot);
}

/** The lines as they are: they are what models read, and stand for themselves. */
function renderSnapshot({ url, title, snapshot: lines, nodes, left, removed, warnings }: SnapshotResponse): string {
  return [
    `${title} ${url}`,
    lines ?? JSON.stringify(nodes, null, 2),
    ...(removed && removed.length > 0 ? [`removed: ${removed.join(' ')}`] : []),
    ...(left ? [`${left.nodes} nodes are left (${left.tokens} tokens): berth snapshot --after ${left.after}`] : []),
    ...warnings.map((text) => `warning: ${text}`),
  ].join('\n');
}
