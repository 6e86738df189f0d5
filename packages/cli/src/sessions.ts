/** The session that a command works with: the one that is there, or one that is started with the options given. */
import type { Berth, CreateSessionRequest } from '@berth/sdk';
import type { Context, OpenSession } from './context.ts';
import { usageError } from './failures.ts';
import { toPairs } from './options.ts';

/** Returns the live session of the folder or of the name, unless another one is wanted; starts one where there is none. */
export async function findOrCreate(
  context: Context,
  berth: Berth,
  { isNewWanted = context.options.flag('new'), signal = context.signal }: { isNewWanted?: boolean; signal?: AbortSignal } = {},
): Promise<{ session: OpenSession; isNew: boolean }> {
  const found = isNewWanted ? undefined : context.findSession();
  const file = context.sessionFile;
  if (found && (!file || (await isLive(berth, found.id, signal)))) return { session: found, isNew: false };
  const created = await berth.sessions.create(newSession(context), { signal });
  const id = idOf(created);
  file?.write({ session_id: id });
  return { session: { id, tabId: undefined }, isNew: true };
}

/** The call that creates a session returns its record, or a handle with it. */
export const idOf = (created: object): string =>
  'session_id' in created ? String(created.session_id) : String((created as { id: unknown }).id);

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

export function newSession({ options, sessionName }: Context): CreateSessionRequest {
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
    proxy: proxy === undefined ? undefined : { type: 'external', server: proxy },
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as CreateSessionRequest;
}

function toViewport(text: string): { width: number; height: number } {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  if (width === undefined) throw usageError('--viewport is given as WIDTHxHEIGHT, such as 1280x800.');
  return { width: Number(width), height: Number(height) };
}
