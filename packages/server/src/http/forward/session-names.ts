/** Session names in place of ids, in paths and in the field `session_id` of bodies. */
import { sessionNameMax } from '@berth/contract';
import { isId } from '@berth/lib/ids.ts';
import { isStorableText } from '@berth/lib/text/text.ts';
import type { Exchange } from '../server/exchange.ts';

/** undefined where the owner has no session of that name. */
export type SessionIdOf = (owner: string, name: string) => Promise<string | undefined>;

/** Puts ids in place of names, and notes for the log which session it is. Unknown names stay, and are answered like unknown ids. */
export async function resolveSessionNames(exchange: Exchange, sessionIdOf: SessionIdOf | undefined): Promise<void> {
  await replaceNames(exchange, sessionIdOf);
  const { principal, params, body, caller } = exchange;
  const parts: unknown[] = [params, body];
  const named = parts.find(hasSessionId)?.session_id ?? principal.viewer?.sessionId;
  if (named !== undefined && isId('ses', named)) caller.sessionId = named;
}

async function replaceNames({ principal, params, body, forwarded }: Exchange, sessionIdOf: SessionIdOf | undefined): Promise<void> {
  const { owner, viewer } = principal;
  // A view link is of one session, whose id is in it.
  if (!sessionIdOf || owner === null || viewer) return;
  for (const part of [params, body] as unknown[]) {
    if (!hasSessionId(part) || !mayBeName(part.session_id)) continue;
    const known = part === params || !hasSessionId(params) ? forwarded?.sessionId : null;
    part.session_id = known ?? (await sessionIdOf(owner, part.session_id)) ?? part.session_id;
  }
}

const hasSessionId = (part: unknown): part is { session_id: string } =>
  typeof part === 'object' && part !== null && 'session_id' in part && typeof part.session_id === 'string';

const mayBeName = (text: string): boolean => text !== '' && text.length <= sessionNameMax && !isId('ses', text) && isStorableText(text);
