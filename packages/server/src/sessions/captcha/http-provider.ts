/**
 * The client of the operator's own endpoint. docs/captcha.md describes the protocol.
 *
 * The operator configures the address, so calls are direct and the address may
 * be private. Responses are still untrusted: they are bounded and validated, and
 * neither they nor the secret appear in a log or an error.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { CaptchaType } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { Deadline } from '@berth/lib/deadline.ts';

export interface CaptchaTask {
  type: CaptchaType;
  /** The site's public key at the vendor; null when the page does not expose it. */
  siteKey: string | null;
  /** The address of the document that holds the captcha, without its fragment. */
  pageUrl: string;
  action: string | null;
  /** Other data the token is bound to: `data-s`, `data-cdata` or `data-blob`. */
  data: string | null;
}

/**
 * `refused`: a response other than 2xx that a retry will not change.
 * `invalid_response`: a response that is too large, no JSON, or does not match the request.
 * `failed`: the provider could not solve the captcha.
 */
export type ProviderFailureReason = 'refused' | 'invalid_response' | 'failed';

/** Contains nothing of the provider's response. */
export class CaptchaProviderError extends Error {
  readonly reason: ProviderFailureReason;

  constructor(reason: ProviderFailureReason) {
    super(`captcha provider failed: ${reason}`);
    this.name = 'CaptchaProviderError';
    this.reason = reason;
  }
}

interface HttpProviderDeps {
  url: string;
  secret: string;
  clock: Clock;
  log: Log;
  /** Delay before the first retry; doubles with each retry. */
  retryMs?: number;
  requestTimeoutMs?: number;
}

/** A response is a few fields; the longest known token is below 16 KiB. */
const responseBytesMax = 64 * 1024;
/** A slow endpoint answers `submit` before it starts to solve. */
const defaultRequestTimeoutMs = 10_000;
const defaultRetryMs = 500;
const retryMsMax = 8000;
/** Types with a field for a token. Only a person at the page can pass the others. */
const supportedTypes: readonly CaptchaType[] = ['recaptcha', 'hcaptcha', 'turnstile', 'arkose'];

const Id = z.string().min(1).max(200);
const SubmitResponse = z.object({ id: Id });
/** Visible ASCII: a token goes into a form field, and all known tokens are ASCII. */
const Token = z
  .string()
  .max(32_768)
  .regex(/^[\x21-\x7e]+$/);
const PollResponse = z.discriminatedUnion('state', [
  z.object({ id: Id.optional(), state: z.literal('solving') }),
  z.object({ id: Id.optional(), state: z.literal('solved'), token: Token }),
  z.object({ id: Id.optional(), state: z.literal('failed') }),
]);

/** All methods throw CaptchaProviderError or the signal's reason. */
export class HttpProvider {
  readonly #deps: Required<HttpProviderDeps>;

  constructor(deps: HttpProviderDeps) {
    this.#deps = { retryMs: defaultRetryMs, requestTimeoutMs: defaultRequestTimeoutMs, ...deps };
  }

  supports(type: CaptchaType): boolean {
    return supportedTypes.includes(type);
  }

  async submit(task: CaptchaTask, signal: AbortSignal): Promise<{ id: string }> {
    const { type, siteKey, pageUrl, action, data } = task;
    const request = { action: 'submit', task: { type, site_key: siteKey, page_url: pageUrl, action, data } };
    return parseResponse(SubmitResponse, await this.#request(request, signal));
  }

  async poll(id: string, signal: AbortSignal): Promise<z.infer<typeof PollResponse>> {
    const response = parseResponse(PollResponse, await this.#request({ action: 'poll', id }, signal));
    if (response.id !== undefined && response.id !== id) throw new CaptchaProviderError('invalid_response');
    return response;
  }

  /** Reports whether the page accepted the token. */
  async report(id: string, good: boolean, signal: AbortSignal): Promise<void> {
    await this.#request({ action: 'report', id, good }, signal);
  }

  /** Retries until the endpoint answers or the signal aborts. */
  async #request(request: { action: string; id?: string; task?: object; good?: boolean }, signal: AbortSignal): Promise<string> {
    const { retryMs, log } = this.#deps;
    const requestId = randomUUID();
    for (let delayMs = retryMs; ; delayMs = Math.min(delayMs * 2, retryMsMax)) {
      const { body, failure } = await this.#send({ ...request, request_id: requestId }, signal);
      if (body !== undefined) return body;
      // Logged once per request, as a code without any of the endpoint's text.
      if (delayMs === retryMs) log.warn({ action: request.action, failure }, 'captcha endpoint request retried');
      await sleep(delayMs / 2 + (Math.random() * delayMs) / 2, undefined, { signal });
    }
  }

  async #send(request: object, signal: AbortSignal): Promise<SendResult> {
    const { url, secret, clock, requestTimeoutMs } = this.#deps;
    const timestamp = Math.floor(clock.now().getTime() / 1000);
    const body = JSON.stringify({ ...request, timestamp });
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'berth-signature': signatureOf(secret, { timestamp, body }),
    };
    return Deadline.run({ signal, timeoutMs: requestTimeoutMs }, async (by) => {
      try {
        return await readResponse(await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: by.signal }));
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CaptchaProviderError) throw error;
        // The rest is the network: no connection, a broken one, or a timeout.
        return { failure: by.signal.aborted ? 'timeout' : networkErrorCode(error) };
      }
    });
  }
}

/** `t=<seconds>,v1=<hex HMAC-SHA256 of "<seconds>.<body>">` */
export function signatureOf(secret: string, { timestamp, body }: { timestamp: number; body: string }): string {
  return `t=${timestamp},v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

/** The body, or why a retry makes sense. */
type SendResult = { body: string; failure?: undefined } | { body?: undefined; failure: string };

/** Such as `ECONNREFUSED`. */
function networkErrorCode(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'network';
}

async function readResponse(response: Response): Promise<SendResult> {
  if (response.status >= 500 || response.status === 429) return { failure: `status_${response.status}` };
  if (!response.ok) throw new CaptchaProviderError('refused');
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > responseBytesMax) throw new CaptchaProviderError('invalid_response');
    chunks.push(chunk);
  }
  return { body: Buffer.concat(chunks).toString('utf8') };
}

function parseResponse<T>(schema: z.ZodType<T>, body: string): T {
  const parsed = schema.safeParse(parseJson(body));
  // The response and its validation errors both hold text of the endpoint, so neither is passed on.
  if (!parsed.success) throw new CaptchaProviderError('invalid_response');
  return parsed.data;
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
