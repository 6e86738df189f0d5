/** Why an asset is not to be had. `denied`: the link is no longer good. `missing`: there is none, or not yet. */
export type AssetFault = 'denied' | 'missing' | 'unreachable';

export class AssetError extends Error {
  readonly fault: AssetFault;

  constructor(fault: AssetFault) {
    super(`asset ${fault}`);
    this.name = 'AssetError';
    this.fault = fault;
  }
}

async function request(name: string, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(name, { headers: { accept: 'application/json', ...headers }, cache: 'no-store' }).catch(() => undefined);
  if (!response) throw new AssetError('unreachable');
  if (response.ok) return response;
  if (response.status === 401 || response.status === 403) throw new AssetError('denied');
  throw new AssetError(response.status === 404 || response.status === 410 ? 'missing' : 'unreachable');
}

/** A file of the recording as JSON. Throws AssetError. */
export async function readJson<T>(name: string): Promise<T> {
  const response = await request(name, {});
  return (await response.json()) as T;
}

/** Bytes of a file from one place to before another. Throws AssetError. */
export async function readBytes(name: string, from: number, to: number): Promise<Uint8Array> {
  const response = await request(name, { range: `bytes=${from}-${to - 1}` });
  return takeFrom(response, from, to);
}

/** What a growing file has from a place on; empty where it has not grown. Throws AssetError. */
export async function readRest(name: string, from: number): Promise<Uint8Array> {
  // With the byte before there is always something to answer with: a range that is empty is an error, and shows as one in the console.
  const response = await request(name, from > 0 ? { range: `bytes=${from - 1}-` } : {});
  const bytes = await takeFrom(response, Math.max(0, from - 1));
  return from > 0 ? bytes.subarray(1) : bytes;
}

async function takeFrom(response: Response, from: number, to?: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  // Who does not know ranges answers with the whole file.
  return response.status === 206 ? bytes : bytes.subarray(from, to);
}
