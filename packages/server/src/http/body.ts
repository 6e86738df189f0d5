import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@berth/contract';
import { CallerGone } from './exchange.ts';

export interface BodyLimits {
  bytes: number;
  timeoutMs: number;
}

/** Whether the headers announce a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');

/** Blanks only between the parts: a tab or anything else there is how two parsers are made to disagree. */
const jsonType = /^application\/json *(?:; *[\w.-]+=(?:"[\w.-]+"|[\w.-]+) *)*$/i;

const formType = /^application\/x-www-form-urlencoded *(?:; *charset=utf-8 *)?$/i;

/** Throws what a body of ours cannot be: another type, another character set, or compressed. */
export function checkBodyType({ headers }: IncomingMessage, form: 'json' | 'form' = 'json'): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ServiceError('unsupported_media_type', 'Compressed bodies are not taken. Send the body as it is.');
  const type = headers['content-type'] ?? '';
  if (form === 'form') {
    if (formType.test(type)) return;
    throw new ServiceError('unsupported_media_type', 'A form is sent as `Content-Type: application/x-www-form-urlencoded`.');
  }
  const charset = /charset="?([\w.-]+)/i.exec(type)?.[1]?.toLowerCase() ?? 'utf-8';
  if (!jsonType.test(type) || charset !== 'utf-8')
    throw new ServiceError('unsupported_media_type', 'A body is sent as `Content-Type: application/json`, in UTF-8.');
}

/**
 * The whole body. Throws `body_too_large` as soon as the announced or the
 * received length passes the limit, `request_timeout` when it comes too slowly.
 */
export function readBody(request: IncomingMessage, response: ServerResponse, limits: BodyLimits): Promise<Buffer> {
  const tooLarge = (): ServiceError =>
    new ServiceError('body_too_large', `The body is larger than ${limits.bytes} bytes.`, { details: { limit_bytes: limits.bytes } });
  if (Number(request.headers['content-length'] ?? 0) > limits.bytes) return Promise.reject(tooLarge());
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onError);
      finish();
    };
    const refuse = (error: Error): void =>
      settle(() => {
        // Late errors of a request that is already answered have nobody to hear them.
        request.on('error', () => {}).resume();
        reject(error);
      });
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > limits.bytes) refuse(tooLarge());
      else chunks.push(chunk);
    };
    const onEnd = (): void => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    const onError = (): void => refuse(new CallerGone());
    const timer = setTimeout(() => refuse(new ServiceError('request_timeout', 'The body took too long to arrive.')), limits.timeoutMs);
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onError);
  });
}

/** The text of a body, or null when it is not UTF-8. */
export const bodyText = (body: Buffer): string | null => (isUtf8(body) ? body.toString('utf8') : null);
