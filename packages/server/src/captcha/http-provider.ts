/**
 * The operator's own endpoint, see docs/captcha.md for its wire.
 *
 * Its address is configured by the operator, so it is called directly and may
 * be private. It is still not believed: replies are bounded and checked, and
 * neither they nor the secret come into a log or an error.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { CaptchaType } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { ProviderFailure, type CaptchaProgress, type CaptchaProvider, type CaptchaTask } from './provider.ts';

export interface HttpProviderOptions {
  url: string;
  secret: string;
  clock: Clock;
  log: Log;
  /** Until a request is tried again for the first time; doubles with each try. */
  retryMs?: number;
  requestTimeoutMs?: number;
}

/** Every reply is a few fields; the longest known token is below 16 KiB. */
const replyBytesMax = 64 * 1024;
/** An endpoint that takes longer answers `submit` before it begins. */
const usualRequestTimeoutMs = 10_000;
const usualRetryMs = 500;
const longestRetryMs = 8000;
/** These have a place for an answer; the others are passed only by who sits at the page. */
const answerable: readonly CaptchaType[] = ['recaptcha', 'hcaptcha', 'turnstile', 'arkose'];

const Id = z.string().min(1).max(200);
const SubmitReply = z.object({ id: Id });
/** Visible ASCII: a token goes into a form field, and none is known to be anything else. */
const Token = z
  .string()
  .max(32_768)
  .regex(/^[\x21-\x7e]+$/);
const PollReply = z.discriminatedUnion('state', [
  z.object({ id: Id.optional(), state: z.literal('solving') }),
  z.object({ id: Id.optional(), state: z.literal('solved'), token: Token, cost_units: z.number().nonnegative().optional() }),
  z.object({ id: Id.optional(), state: z.literal('failed'), error: z.string().max(1000).optional() }),
]);

export class HttpProvider implements CaptchaProvider {
  readonly name = 'http';
  readonly #options: Required<HttpProviderOptions>;

  constructor(options: HttpProviderOptions) {
    this.#options = { retryMs: usualRetryMs, requestTimeoutMs: usualRequestTimeoutMs, ...options };
  }

  supports(type: CaptchaType): boolean {
    return answerable.includes(type);
  }

  async submit(task: CaptchaTask, signal: AbortSignal): Promise<{ id: string }> {
    const { type, siteKey, pageUrl, action, data } = task;
    const order = { action: 'submit', task: { type, site_key: siteKey, page_url: pageUrl, action, data } };
    return checked(SubmitReply, await this.#ask(order, signal));
  }

  async poll(id: string, signal: AbortSignal): Promise<CaptchaProgress> {
    const reply = checked(PollReply, await this.#ask({ action: 'poll', id }, signal));
    if (reply.id !== undefined && reply.id !== id) throw new ProviderFailure('bad_reply');
    switch (reply.state) {
      case 'solving':
        return { state: 'solving' };
      case 'solved':
        return { state: 'solved', token: reply.token, costUnits: reply.cost_units };
      case 'failed':
        return { state: 'failed', error: reply.error };
    }
  }

  async report(id: string, good: boolean, signal: AbortSignal): Promise<void> {
    await this.#ask({ action: 'report', id, good }, signal);
  }

  /** Asks until it is answered, as long as the signal lets it: what an endpoint did not hear or could not do is asked again. */
  async #ask(order: { action: string; id?: string; task?: object; good?: boolean }, signal: AbortSignal): Promise<string> {
    const { retryMs, log } = this.#options;
    const requestId = randomUUID();
    for (let waitMs = retryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
      const { text, trouble } = await this.#send({ ...order, request_id: requestId }, signal);
      if (text !== undefined) return text;
      // Once is enough for an operator to see what is wrong; a code carries none of the endpoint's words.
      if (waitMs === retryMs) log.warn({ action: order.action, trouble }, 'captcha endpoint: no answer, asking again');
      await sleep(waitMs / 2 + (Math.random() * waitMs) / 2, undefined, { signal });
    }
  }

  async #send(order: object, signal: AbortSignal): Promise<Sent> {
    const { url, secret, clock, requestTimeoutMs } = this.#options;
    const timestamp = Math.floor(clock.now().getTime() / 1000);
    const body = JSON.stringify({ ...order, timestamp });
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), requestTimeoutMs);
    try {
      const reply = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'berth-signature': signatureOf(secret, { timestamp, body }),
        },
        body,
        redirect: 'manual',
        signal: AbortSignal.any([signal, limit.signal]),
      });
      return await readReply(reply);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ProviderFailure) throw error;
      // What is left is the network: no connection, one that broke, or no answer in time.
      return { trouble: limit.signal.aborted ? 'timeout' : codeOf(error) };
    } finally {
      clearTimeout(timer);
      limit.abort();
    }
  }
}

/** `t=<seconds>,v1=<hex HMAC-SHA256 of "<seconds>.<body>">` */
export function signatureOf(secret: string, { timestamp, body }: { timestamp: number; body: string }): string {
  return `t=${timestamp},v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

/** The reply's text, or why it is worth to ask again. */
type Sent = { text: string; trouble?: undefined } | { text?: undefined; trouble: string };

/** What the network says of itself, such as `ECONNREFUSED`. */
function codeOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'network';
}

async function readReply(reply: Response): Promise<Sent> {
  if (reply.status >= 500 || reply.status === 429) return { trouble: `status_${reply.status}` };
  if (!reply.ok) throw new ProviderFailure('refused');
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of reply.body ?? []) {
    size += piece.byteLength;
    if (size > replyBytesMax) throw new ProviderFailure('bad_reply');
    pieces.push(piece);
  }
  return { text: Buffer.concat(pieces).toString('utf8') };
}

function checked<T>(schema: z.ZodType<T>, text: string): T {
  const parsed = schema.safeParse(parseJson(text));
  // Neither what came nor what is wrong with it may be told: both are the endpoint's words.
  if (!parsed.success) throw new ProviderFailure('bad_reply');
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
