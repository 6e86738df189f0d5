/** HTTP/2 server on the control port. */
import { constants, performServerHandshake } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { guestRequests } from '@berth/contract/guest';
import { BadBodyError, BodyTooLargeError, respond, handlers, type RequestHandler } from './requests.ts';
import { NoDisplayError } from '../browser/display.ts';
import { NoSuchFileError } from './machine-files.ts';
import type { Machine } from './machine.ts';
import { InvalidStateError } from './machine.ts';
import { controlWindowBytes, sessionMemoryMax, configureSession } from './sessions.ts';

/** Limit of error messages, which go to the host's log. */
const messageLengthMax = 1000;

/** Serves the connected host. `onUnexpected` receives errors of our own. */
export function serve(host: Duplex, machine: Machine, onUnexpected: (error: unknown) => void): ServerHttp2Session {
  const session = performServerHandshake(host, { maxSessionMemory: sessionMemoryMax, settings: { initialWindowSize: controlWindowBytes } });
  configureSession(session, host);
  session.on('stream', (stream, headers) => {
    // The host may close a stream at any time.
    stream.on('error', () => {});
    void handleStream(stream, headers, machine).catch(onUnexpected);
  });
  return session;
}

async function handleStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, machine: Machine): Promise<void> {
  try {
    const { handler, names } = findHandler(String(headers[constants.HTTP2_HEADER_METHOD]), String(headers[constants.HTTP2_HEADER_PATH]));
    await handler(machine, stream, names);
  } catch (error) {
    if (stream.destroyed) return;
    if (stream.headersSent) {
      // `close` with any code sends an end first, and a part would pass for the whole.
      stream.destroy(new Error('cut off', { cause: error }));
      return;
    }
    respond(stream, { error: messageOf(error) }, statusOf(error));
    // Does not wait for the rest of the body.
    stream.close(constants.NGHTTP2_NO_ERROR);
  }
}

class NoSuchRequestError extends Error {}

/** `names` are the decoded segments after the first. @throws NoSuchRequestError */
function findHandler(method: string, path: string): { handler: RequestHandler; names: string[] } {
  const [, first, ...rest] = path.split('/');
  const names = rest.map(decodeName);
  const key = (Object.keys(guestRequests) as (keyof typeof guestRequests)[]).find((key) => guestRequests[key].path === `/${first}`);
  if (key === undefined || guestRequests[key].method !== method) throw new NoSuchRequestError(`${method} ${path}`);
  return { handler: handlers[key], names };
}

function decodeName(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    throw new NoSuchRequestError(part, { cause });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, messageLengthMax);

function statusOf(error: unknown): number {
  if (error instanceof BadBodyError) return constants.HTTP_STATUS_BAD_REQUEST;
  if (error instanceof BodyTooLargeError) return constants.HTTP_STATUS_PAYLOAD_TOO_LARGE;
  if (error instanceof NoSuchFileError || error instanceof NoSuchRequestError) return constants.HTTP_STATUS_NOT_FOUND;
  if (error instanceof NoDisplayError || error instanceof InvalidStateError || isExistingFile(error)) return constants.HTTP_STATUS_CONFLICT;
  return constants.HTTP_STATUS_INTERNAL_SERVER_ERROR;
}

const isExistingFile = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST';
