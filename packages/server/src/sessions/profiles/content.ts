/** The content of a profile: merged with what a session has left, and encrypted. */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { profileBytesMax } from '@berth/contract';
import type { BrowserState, OriginState, ReadBrowserState } from '@berth/devtools';
import { openBytes, sealBytes } from '@berth/lib/secrets/sealed-bytes.ts';

/** A session opens an empty page of each before its first one. */
export const profileOriginsMax = 100;

/** Cookies alone are larger than a profile may be. */
export class ProfileTooLargeError extends Error {}

/** Who it is of. What is sealed for one opens for no other. */
export interface ProfileKey {
  owner: string;
  profileId: string;
}

const purposeOf = ({ owner, profileId }: ProfileKey): string => `profile ${profileId} of ${owner}`;

export async function sealContent(secret: Buffer, key: ProfileKey, json: string): Promise<Buffer> {
  return sealBytes(secret, purposeOf(key), await promisify(gzip)(json));
}

/** null: sealed with another secret or for another profile, or changed. */
export async function openContent(secret: Buffer, key: ProfileKey, sealed: Buffer): Promise<BrowserState | null> {
  const bytes = await openBytes(secret, purposeOf(key), sealed);
  return bytes && (JSON.parse((await promisify(gunzip)(bytes)).toString()) as BrowserState);
}

export interface MergedContent {
  state: BrowserState;
  json: string;
  sizeBytes: number;
  /** Origins for which there is no room. */
  dropped: number;
}

/**
 * The cookies are those of the browser. Origins that it has visited are as it left them, latest first, and the others
 * as they were. Those that were not visited for longest give way to a limit. @throws ProfileTooLargeError
 */
export function mergeContent(before: BrowserState | null, read: ReadBrowserState): MergedContent {
  const visited = new Set(read.origins.map(({ origin }) => origin));
  const untouched = (before?.origins ?? []).filter(({ origin }) => !visited.has(origin));
  const all = [...read.origins, ...untouched].filter(hasContent);
  let sizeBytes = sizeOf({ cookies: read.cookies, origins: [] });
  if (sizeBytes > profileBytesMax) throw new ProfileTooLargeError();
  const origins: OriginState[] = [];
  for (const origin of all) {
    const bytes = sizeOf(origin) + 1;
    if (origins.length === profileOriginsMax || sizeBytes + bytes > profileBytesMax) continue;
    origins.push(origin);
    sizeBytes += bytes;
  }
  const state = { cookies: read.cookies, origins };
  const json = JSON.stringify(state);
  return { state, json, sizeBytes: Buffer.byteLength(json), dropped: all.length - origins.length };
}

const hasContent = ({ localStorage, databases }: OriginState): boolean => localStorage.length > 0 || databases.length > 0;
const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
