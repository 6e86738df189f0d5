/** `denied`: the link is no longer valid. `missing`: the file does not exist, or not yet. */
export type AssetErrorReason = 'denied' | 'missing' | 'unreachable';

export class AssetError extends Error {
  readonly reason: AssetErrorReason;

  constructor(reason: AssetErrorReason) {
    super(`asset ${reason}`);
    this.name = 'AssetError';
    this.reason = reason;
  }
}

async function request(name: string, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(name, { headers: { accept: 'application/json', ...headers }, cache: 'no-store' }).catch(() => undefined);
  if (!response) throw new AssetError('unreachable');
  if (response.ok) return response;
  if (response.status === 401 || response.status === 403) throw new AssetError('denied');
  throw new AssetError(response.status === 404 || response.status === 410 ? 'missing' : 'unreachable');
}

/** Reads a file of the recording as JSON. @throws AssetError */
export async function readJson<T>(name: string): Promise<T> {
  const response = await request(name, {});
  return (await response.json()) as T;
}

/** Reads the bytes of a file from `from` to before `to`. @throws AssetError */
export async function readBytes(name: string, from: number, to: number): Promise<Uint8Array> {
  const response = await request(name, { range: `bytes=${from}-${to - 1}` });
  return sliceBody(response, from, to);
}

/** Reads a growing file from `from` to its end; empty when it has not grown. @throws AssetError */
export async function readAppended(name: string, from: number): Promise<Uint8Array> {
  // Includes the byte before, as an empty range is an error that would appear in the console.
  const response = await request(name, from > 0 ? { range: `bytes=${from - 1}-` } : {});
  const bytes = await sliceBody(response, Math.max(0, from - 1));
  return from > 0 ? bytes.subarray(1) : bytes;
}

async function sliceBody(response: Response, from: number, to?: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  // A server without range support sends the whole file.
  return response.status === 206 ? bytes : bytes.subarray(from, to);
}
