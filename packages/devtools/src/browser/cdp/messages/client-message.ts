/** A message of a customer's client, read as Chromium reads it. */
import type { LongTexts } from './long-texts.ts';

/** The browser's own parser stops at 300, and its error then has no id. */
export const paramsDepthMax = 200;

export interface ClientMessage {
  id: number;
  method: string;
  params: Record<string, unknown>;
  sessionId: string | undefined;
  /** The long texts of a large message; its `params` have marks in their places. */
  texts?: LongTexts;
}

export interface MessageError {
  id?: number | undefined;
  code: number;
  message: string;
}

/** The message as Chromium would read it, or Chromium's error for it. Large ones are for `parseLargeMessage`. */
export function parseMessage(raw: string | Buffer): ClientMessage | MessageError {
  let value: unknown;
  try {
    value = JSON.parse(typeof raw === 'string' ? raw : raw.toString('utf8'));
  } catch {
    return { code: -32700, message: 'JSON: the message cannot be parsed' };
  }
  return toMessage(value, raw.length);
}

/** The message of JSON that is parsed. `length` is that of its text, where known: each level takes two characters. */
export function toMessage(value: unknown, length = Infinity): ClientMessage | MessageError {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { code: -32600, message: 'Message must be an object' };
  const { id, method, params, sessionId, ...others } = value as Record<string, unknown>;
  if (typeof id !== 'number' || !Number.isInteger(id) || Math.abs(id) > 2 ** 31 - 1)
    return { code: -32600, message: "Message must have integer 'id' property" };
  if (typeof method !== 'string') return { id, code: -32600, message: "Message must have string 'method' property" };
  if (sessionId !== undefined && typeof sessionId !== 'string')
    return { id, code: -32600, message: "Message may have string 'sessionId' property" };
  if (Object.keys(others).length > 0)
    return { id, code: -32600, message: "Message has property other than 'id', 'method', 'sessionId', 'params'" };
  if (params === undefined || params === null) return { id, method, params: {}, sessionId };
  if (typeof params !== 'object' || Array.isArray(params))
    return { id, code: -32600, message: "Message may have object 'params' property" };
  if (length > 2 * paramsDepthMax && !isShallow(params)) return { id, code: -32600, message: `'params' is deeper than ${paramsDepthMax}` };
  return { id, method, params: params as Record<string, unknown>, sessionId };
}

/** The id at the start of a message, where libraries write it, so that the call fails and does not wait. */
export function idAtHead(raw: Buffer): number | undefined {
  const [, id] = /^\{"id":(\d{1,9}),/.exec(raw.slice(0, 32).toString()) ?? [];
  return id === undefined ? undefined : Number(id);
}

/** Level by level and without recursion, so that deep params cannot exhaust the stack. */
function isShallow(top: object): boolean {
  let level: object[] = [top];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > paramsDepthMax) return false;
    const below: object[] = [];
    for (const each of level)
      for (const value of Object.values(each)) if (typeof value === 'object' && value !== null) below.push(value as object);
    level = below;
  }
  return true;
}
