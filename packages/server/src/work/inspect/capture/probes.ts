/** Requests the well-known files of a site, by the egress of its inspection. */
import { decodeBody } from '@berth/reading';
import { HttpError, type HttpClient } from '@berth/egress';
import { limits } from '../limits.ts';
import type { ProbedFile } from '@berth/site-report';

/** Files that are always requested: what a site says to programs about itself. */
const politePaths = ['/robots.txt', '/.well-known/security.txt'];
/** Files that are requested only if the caller asks for it. No request changes anything, and none is an attack. */
const wellKnownPaths = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/sitemap.xml',
  '/llms.txt',
  '/openapi.json',
  '/swagger.json',
  '/api-docs',
];
const probeMsMax = 5000;
const redirectsMax = 3;

/** A file that cannot be requested has no status. @throws the signal's reason */
export async function probeSite(
  client: HttpClient,
  { url, isFull }: { url: string; isFull: boolean },
  signal: AbortSignal,
): Promise<ProbedFile[]> {
  const origin = URL.parse(url)?.origin ?? 'null';
  if (!/^https?:/.test(origin)) return [];
  const paths = isFull ? [...politePaths, ...wellKnownPaths] : politePaths;
  return Promise.all(paths.map((path) => probe(client, { origin, path }, signal)));
}

async function probe(client: HttpClient, { origin, path }: { origin: string; path: string }, signal: AbortSignal): Promise<ProbedFile> {
  const options = { method: 'GET', headers: {}, body: null, cookies: [], redirectsMax, timeoutMs: probeMsMax } as const;
  const bytes = { bodyBytesMax: limits.probedBytesMax, wireBytesMax: limits.probedBytesMax };
  try {
    const { status, body, contentType } = await client.request({ ...options, ...bytes, url: origin + path }, { signal });
    const text = status < 400 ? (await decodeBody(body, contentType)).text : '';
    return { path, statusCode: status, contentType: contentType ?? '', body: text };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HttpError)) throw error;
    return { path, statusCode: null, contentType: '', body: '' };
  }
}
