/** A message of a customer's client, read as Chromium reads it. */

/** The browser's own parser stops at 300, and its error then has no id. */
const paramsDepthMax = 200;

/** A large argument is better passed as text: an object for each value takes a hundred times the bytes, and seconds. */
const valuesMax = 200_000;

export interface ClientMessage {
  id: number;
  method: string;
  params: Record<string, unknown>;
  sessionId: string | undefined;
}

export interface MessageError {
  id?: number | undefined;
  code: number;
  message: string;
}

/** The message as Chromium would read it, or Chromium's error for it. */
export function parseMessage(raw: string | Buffer): ClientMessage | MessageError {
  if (raw.length > valuesMax && hasTooManyValues(typeof raw === 'string' ? Buffer.from(raw) : raw))
    return { id: idAtHead(raw), code: -32600, message: `Message has more than ${valuesMax} values` };
  let value: unknown;
  try {
    value = JSON.parse(typeof raw === 'string' ? raw : raw.toString('utf8'));
  } catch {
    return { code: -32700, message: 'JSON: the message cannot be parsed' };
  }
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
  if (!isShallow(params)) return { id, code: -32600, message: `'params' is deeper than ${paramsDepthMax}` };
  return { id, method, params: params as Record<string, unknown>, sessionId };
}

/** Counts what opens or follows a value, outside of strings, before anything is allocated for it. */
function hasTooManyValues(raw: Buffer): boolean {
  let values = 0;
  let isInString = false;
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at];
    if (byte === 0x22) isInString = !isInString;
    else if (isInString) at += byte === 0x5c ? 1 : 0;
    else if ((byte === 0x2c || byte === 0x5b || byte === 0x7b) && (values += 1) > valuesMax) return true;
  }
  return false;
}

/** Where libraries write it, so that the call fails and does not wait. */
function idAtHead(raw: string | Buffer): number | undefined {
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
