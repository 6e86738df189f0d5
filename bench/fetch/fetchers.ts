/** The two fetchers that are compared: a script with its own warm browser, and the service. */
import { join } from 'node:path';
import type { FetchResponse } from '@berth/contract';
import type { Berth, BerthFetchRequest } from '../berth.ts';
import type { Bench } from '../context.ts';
import { launchRaw } from '../peers/raw-browser.ts';

/** The result of a fetch, by either fetcher. */
export interface FetchResult {
  status: number | null;
  finalUrl: string | null;
  contentType: string | null;
  /** All formats, concatenated. */
  content: string;
  /** null when there was a response. */
  error: string | null;
  /** Timings as reported by the service. */
  timings?: FetchResponse['timings'];
}

export interface FetchOptions {
  /** Whether to return the content. A script would not transfer it. */
  whole: boolean;
  /** Whether to wait for network idle, for pages that load data after the load event. */
  settled: boolean;
}

export interface RawFetchRequest extends FetchOptions {
  id: number;
  url: string;
}

export type RawFetchResult = FetchResult & { id: number };

export interface Fetcher {
  name: string;
  fetch(url: string, options?: FetchOptions): Promise<FetchResult>;
}

export const formats = ['html', 'markdown'] as const;

/** A warm Chromium and a script for it, in separate processes. */
export async function rawFetcher({ stage, chromium }: Bench): Promise<Fetcher> {
  const raw = await launchRaw(stage, chromium);
  const script = stage.start(process.execPath, [join(import.meta.dirname, 'raw-fetcher.ts'), raw.url], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const pendingById = new Map<number, PromiseWithResolvers<FetchResult>>();
  const ready = Promise.withResolvers<void>();
  script.on('message', (message: RawFetchResult | 'ready') => {
    if (message === 'ready') return ready.resolve();
    pendingById.get(message.id)?.resolve(message);
    pendingById.delete(message.id);
  });
  script.once('exit', () => {
    const ended = new Error('the raw fetcher ended');
    for (const { reject } of [ready, ...pendingById.values()]) reject(ended);
  });
  await ready.promise;
  let lastId = 0;
  const fetch: Fetcher['fetch'] = (url, options = { whole: false, settled: false }) => {
    lastId += 1;
    const pending = Promise.withResolvers<FetchResult>();
    pendingById.set(lastId, pending);
    script.send({ id: lastId, url, ...options } satisfies RawFetchRequest);
    return pending.promise;
  };
  return { name: 'raw-warm', fetch };
}

/** One attempt, like the script, regardless of the site's health record. */
export function berthFetcher(name: string, berth: Berth, overrides: Partial<BerthFetchRequest> = {}): Fetcher {
  const retry = { max_attempts: 1, on: [], ignore_cooldown: true };
  const fetch: Fetcher['fetch'] = async (url, options) =>
    toFetchResult(
      await berth.fetch({ formats: [...formats], retry, wait_until: options?.settled ? 'networkidle' : 'load', ...overrides, url }),
    );
  return { name, fetch };
}

function toFetchResult(result: FetchResponse): FetchResult {
  const { status_code: status, final_url: finalUrl, content_type: contentType, html, markdown, raw, json, error, timings } = result;
  const bytes = raw === null ? '' : Buffer.from(raw.data_base64, 'base64').toString();
  const content = [html, markdown, bytes, json === null ? '' : JSON.stringify(json)].join('\n');
  return {
    status,
    finalUrl,
    contentType,
    content,
    error: error && `${error.code}: ${JSON.stringify(error.details ?? error.message)}`,
    timings,
  };
}
