/** Replies of the browser that a client gets in another form. */
import { isHiddenAddress } from './client-rules.ts';

export interface Reply {
  id: number;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
  sessionId?: string;
}

/** Returns the reply that the client gets. */
type ReplyChange = (reply: Reply) => Reply;

/** Chromium writes the id first, so that an event costs one look. */
const replyStart = Buffer.from('{"id":');

export const isReply = (frame: Buffer): boolean =>
  frame.length > replyStart.length && frame.compare(replyStart, 0, replyStart.length, 0, replyStart.length) === 0;

/** The id of a reply; undefined for an event. */
export function replyIdOf(frame: Buffer): number | undefined {
  if (!isReply(frame)) return undefined;
  const id = Number.parseInt(frame.toString('latin1', replyStart.length, replyStart.length + 11), 10);
  return Number.isNaN(id) ? undefined : id;
}

/** Whether a message answers a command with a negative id, such as the worker's own on a client's session. */
export const isNegativeReply = (frame: Buffer): boolean => frame[replyStart.length] === 0x2d && isReply(frame);

/** The changes to the replies of one DevTools session. A reply that has no change passes unparsed. */
export class ClientReplies {
  readonly #changes = new Map<number, ReplyChange>();

  onReply(id: number, change: ReplyChange): void {
    this.#changes.set(id, change);
  }

  apply(frame: Buffer): Buffer | string {
    if (this.#changes.size === 0) return frame;
    const id = replyIdOf(frame);
    const change = id === undefined ? undefined : this.#changes.get(id);
    if (id === undefined || !change) return frame;
    this.#changes.delete(id);
    return JSON.stringify(change(JSON.parse(frame.toString('utf8')) as Reply));
  }
}

export interface TargetInfo {
  targetId: string;
  type: string;
  url: string;
}

/** Whether no client may see or attach to a target. */
export const isHidden = ({ type, url }: TargetInfo): boolean => type === 'browser_ui' || isHiddenAddress(url);

/** The browser's own error. */
export const noSuchTarget = { code: -32602, message: 'No target with given id found' };

export const toError = ({ id, sessionId }: Reply, error: Reply['error'] & object): Reply =>
  sessionId === undefined ? { id, error } : { id, error, sessionId };

/** The reply to `Target.getTargets` without the targets that are left out. */
export function withoutTargets(reply: Reply, isLeftOut: (info: TargetInfo) => boolean): Reply {
  const targetInfos = reply.result?.['targetInfos'] as TargetInfo[] | undefined;
  return targetInfos ? { ...reply, result: { targetInfos: targetInfos.filter((info) => !isLeftOut(info)) } } : reply;
}

/** The reply to `Target.getTargetInfo`; an error for a hidden target. */
export function withoutHiddenTarget(reply: Reply): Reply {
  const info = reply.result?.['targetInfo'] as TargetInfo | undefined;
  return info && isHidden(info) ? toError(reply, noSuchTarget) : reply;
}
