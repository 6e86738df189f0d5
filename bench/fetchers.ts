/** The two ways to a page's content that are compared: a script with a warm browser of its own, and the service. */
import { join } from 'node:path';
import type { FetchResponse } from '@berth/contract';
import type { Berth, FetchOrder } from './berth.ts';
import type { Bench } from './context.ts';
import { launchRaw } from './raw-browser.ts';

/** What came of a page, however it was fetched. */
export interface Answer {
  status: number | null;
  finalUrl: string | null;
  contentType: string | null;
  /** All that was made of the page, one after the other. */
  content: string;
  /** null where there was an answer. */
  error: string | null;
  /** As the service counts it. */
  timings?: FetchResponse['timings'];
}

export interface FetchOptions {
  /** Whether the content is wanted outside too: passing it on is no part of a script's work. */
  whole: boolean;
  /** Whether to wait until the network is idle: what a page asks for after its load may come at any time. */
  settled: boolean;
}

export interface RawOrder extends FetchOptions {
  id: number;
  url: string;
}

export type RawAnswer = Answer & { id: number };

export interface Fetcher {
  name: string;
  fetch(url: string, options?: FetchOptions): Promise<Answer>;
}

export const formats = ['html', 'markdown'] as const;

/** A warm Chromium and a script for it, each in a process of its own. */
export async function rawFetcher({ stage, chromium }: Bench): Promise<Fetcher> {
  const raw = await launchRaw(stage, chromium);
  const script = stage.start(process.execPath, [join(import.meta.dirname, 'raw-fetcher.ts'), raw.url], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const waiting = new Map<number, PromiseWithResolvers<Answer>>();
  const ready = Promise.withResolvers<void>();
  script.on('message', (message: RawAnswer | 'ready') => {
    if (message === 'ready') return ready.resolve();
    waiting.get(message.id)?.resolve(message);
    waiting.delete(message.id);
  });
  script.once('exit', () => {
    const ended = new Error('the raw fetcher ended');
    for (const { reject } of [ready, ...waiting.values()]) reject(ended);
  });
  await ready.promise;
  let lastId = 0;
  const fetch: Fetcher['fetch'] = (url, options = { whole: false, settled: false }) => {
    lastId += 1;
    const answered = Promise.withResolvers<Answer>();
    waiting.set(lastId, answered);
    script.send({ id: lastId, url, ...options } satisfies RawOrder);
    return answered.promise;
  };
  return { name: 'raw-warm', fetch };
}

/** One attempt, as a script makes it, whatever the service has learnt of the site. */
export function berthFetcher(name: string, berth: Berth, order: Partial<FetchOrder> = {}): Fetcher {
  const retry = { max_attempts: 1, on: [], force: true };
  const fetch: Fetcher['fetch'] = async (url, options) =>
    answerOf(await berth.fetch({ formats: [...formats], retry, wait_until: options?.settled ? 'networkidle' : 'load', ...order, url }));
  return { name, fetch };
}

function answerOf(result: FetchResponse): Answer {
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
