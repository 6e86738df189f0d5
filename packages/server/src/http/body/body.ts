import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@berth/contract';
import { ClientDisconnectedError } from '../server/exchange.ts';

export interface BodyLimits {
  bytesMax: number;
  timeoutMs: number;
}

/** Whether the request has a body, by its headers. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');

/** Only spaces between the parts: with tabs, two parsers may disagree about the type. */
const jsonType = /^application\/json *(?:; *[\w.-]+=(?:"[\w.-]+"|[\w.-]+) *)*$/i;

const formType = /^application\/x-www-form-urlencoded *(?:; *charset=utf-8 *)?$/i;

/** @throws ServiceError unsupported_media_type for another type or charset and for compressed bodies */
export function checkBodyType(request: IncomingMessage, form: 'json' | 'form' = 'json'): void {
  checkUncompressed(request);
  const { headers } = request;
  const type = headers['content-type'] ?? '';
  if (form === 'form') {
    if (formType.test(type)) return;
    throw new ServiceError('unsupported_media_type', 'Send the form with `Content-Type: application/x-www-form-urlencoded`.');
  }
  const charset = /charset="?([\w.-]+)/i.exec(type)?.[1]?.toLowerCase() ?? 'utf-8';
  if (!jsonType.test(type) || charset !== 'utf-8')
    throw new ServiceError('unsupported_media_type', 'Send the body as JSON in UTF-8, with `Content-Type: application/json`.');
}

/** @throws ServiceError unsupported_media_type */
export function checkUncompressed({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ServiceError('unsupported_media_type', 'Content-Encoding is not supported for request bodies. Send the body uncompressed.');
}

/** @throws ServiceError body_too_large */
export function checkBodyLength({ headers }: IncomingMessage, bytesMax: number): void {
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

const tooLarge = (bytesMax: number): ServiceError =>
  new ServiceError('body_too_large', `The body is larger than ${bytesMax} bytes. Send less.`, { details: { limit_bytes: bytesMax } });

/**
 * Reads the whole body, whose length is checked where it is announced.
 *
 * @throws ServiceError body_too_large as soon as the received length exceeds the limit, request_timeout
 * @throws ClientDisconnectedError
 */
export function readBody(request: IncomingMessage, response: ServerResponse, limits: BodyLimits): Promise<Buffer> {
  // HTTP/1.0 knows no interim responses.
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const complete = (finish: () => void): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onError);
      finish();
    };
    const refuse = (error: Error): void =>
      complete(() => {
        // The request is already answered: late errors must not be uncaught.
        request.on('error', () => {}).resume();
        reject(error);
      });
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > limits.bytesMax) refuse(tooLarge(limits.bytesMax));
      else chunks.push(chunk);
    };
    const onEnd = (): void => complete(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    const onError = (): void => refuse(new ClientDisconnectedError());
    const late = (): ServiceError => new ServiceError('request_timeout', 'The body took too long to arrive. Send the request again.');
    const timer = setTimeout(() => refuse(late()), limits.timeoutMs);
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onError);
  });
}

/** The text of a body, or null when it is not UTF-8. */
export const bodyText = (body: Buffer): string | null => (isUtf8(body) ? body.toString('utf8') : null);
