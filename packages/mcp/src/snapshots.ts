/** Snapshots as tools answer them: the page between markers, and how to go on. */
import type { SnapshotResponse } from '@berth/sdk';
import { inLine, type Answer } from './answer.ts';
import { fittingLength, tokensMax } from './tokens.ts';
import type { ToolContext } from './tool.ts';

export interface SnapshotOptions {
  mode: 'interactive' | 'full';
  maxTokens: number;
  scope?: string | undefined;
  find?: string | undefined;
  after?: string | undefined;
  tab?: string | undefined;
  /** The id of an earlier snapshot: only what has changed since. */
  since?: string | undefined;
}

/** How often one that is too long for its text is taken again, shorter: each time by half. */
const retriesMax = 3;

/** @throws BerthError */
export async function takeSnapshot(context: ToolContext, session: string, options: SnapshotOptions): Promise<Answer & { id: string }> {
  let taken = await read(context, session, options);
  // The service estimates tokens of ordinary text. Of others a cut would lose what the cursor has passed.
  for (let tries = 1; tries <= retriesMax && isTooLong(taken.snapshot ?? ''); tries += 1)
    taken = await read(context, session, { ...options, maxTokens: Math.max(100, Math.floor(options.maxTokens / 2 ** tries)) });
  const { left, warnings, removed } = taken;
  return {
    id: taken.snapshot_id,
    page: shownPage(taken),
    tail: [
      left === null ? null : `${left.nodes} nodes, about ${left.tokens} tokens, left: snapshot with after "${left.after}"`,
      removed === null || removed.length === 0 ? null : `gone: ${removed.slice(0, 30).join(' ')}`,
      warnings.length === 0 ? null : `warnings: ${inLine(warnings.join(', '))}`,
    ],
  };
}

const isTooLong = (text: string): boolean => fittingLength(text, tokensMax) < text.length;

async function read(
  { berth, options }: ToolContext,
  session: string,
  { maxTokens, tab, ...rest }: SnapshotOptions,
): Promise<SnapshotResponse> {
  return berth.sessions.snapshot(session, { max_tokens: maxTokens, tab_id: tab, ...rest }, options);
}

const shownPage = ({ title, url, snapshot }: SnapshotResponse): string => `${inLine(title, 120)} ${inLine(url)}\n${snapshot ?? ''}`;

/** What only an act compares: texts say what it did. */
const changesMode = 'full';
const changesTokens = 450;
/** Sessions whose last snapshot is known: one that was forgotten takes one more snapshot. */
const seenMax = 1000;
const seen = new Map<string, string>();

function remember(session: string, tab: string | undefined, id: string): void {
  const key = `${session} ${tab ?? ''}`;
  seen.delete(key);
  seen.set(key, id);
  for (const oldest of seen.keys()) {
    if (seen.size <= seenMax) return;
    seen.delete(oldest);
  }
}

/** The id of the snapshot to compare with after an act. */
export async function lastSeen(context: ToolContext, session: string, tab: string | undefined): Promise<string> {
  const known = seen.get(`${session} ${tab ?? ''}`);
  if (known !== undefined) return known;
  const { snapshot_id: id } = await read(context, session, { mode: changesMode, maxTokens: 100, tab });
  return id;
}

/** What an act has changed, or the start of the page that it led to. */
export async function changesSince(
  context: ToolContext,
  session: string,
  { before, tab }: { before: string; tab: string | undefined },
): Promise<Answer> {
  const answer = await takeSnapshot(context, session, { mode: changesMode, maxTokens: changesTokens, tab, since: before });
  remember(session, tab, answer.id);
  return answer;
}
