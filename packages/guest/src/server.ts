/** The agent's side of the control port: it is asked, and it answers. */
import { constants, performServerHandshake } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { guestRequests } from '@berth/contract/guest';
import { BadBody, BodyTooLarge } from './body.ts';
import { NoDisplay } from './display.ts';
import { NoSuchFile } from './machine-files.ts';
import type { Machine } from './machine.ts';
import { NotNow } from './machine.ts';
import { answer, works } from './requests.ts';
import type { Work } from './requests.ts';
import { controlWindowBytes, sessionMemoryMax, tend } from './sessions.ts';

/** For the host's log. */
const messageLengthMax = 1000;

/** Answers whoever is at the other end, until he leaves. `onUnexpected` is told of what is our own fault. */
export function serve(host: Duplex, machine: Machine, onUnexpected: (error: unknown) => void): ServerHttp2Session {
  const session = performServerHandshake(host, { maxSessionMemory: sessionMemoryMax, settings: { initialWindowSize: controlWindowBytes } });
  tend(session, host);
  session.on('stream', (stream, headers) => {
    // Whoever leaves before the end is told nothing.
    stream.on('error', () => {});
    void attend(stream, headers, machine).catch(onUnexpected);
  });
  return session;
}

async function attend(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, machine: Machine): Promise<void> {
  try {
    const { work, names } = find(String(headers[constants.HTTP2_HEADER_METHOD]), String(headers[constants.HTTP2_HEADER_PATH]));
    await work(machine, stream, names);
  } catch (error) {
    if (stream.destroyed) return;
    if (stream.headersSent) {
      // To close it, with whatever code, is to end it first, and a part would pass for the whole.
      stream.destroy(new Error('cut off', { cause: error }));
      return;
    }
    answer(stream, { error: messageOf(error) }, statusOf(error));
    // What is still to come of the body is not waited for.
    stream.close(constants.NGHTTP2_NO_ERROR);
  }
}

class NoSuchRequest extends Error {}

/** The names are what follows in the path. Throws NoSuchRequest. */
function find(method: string, path: string): { work: Work; names: string[] } {
  const [, first, ...rest] = path.split('/');
  const names = rest.map(nameIn);
  const asked = (Object.keys(guestRequests) as (keyof typeof guestRequests)[]).find((key) => guestRequests[key].path === `/${first}`);
  if (asked === 'downloads' && method === 'DELETE') return { work: works.removeDownload, names };
  if (asked === undefined || guestRequests[asked].method !== method) throw new NoSuchRequest(`${method} ${path}`);
  return { work: works[asked], names };
}

function nameIn(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    throw new NoSuchRequest(part, { cause });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, messageLengthMax);

function statusOf(error: unknown): number {
  if (error instanceof BadBody) return constants.HTTP_STATUS_BAD_REQUEST;
  if (error instanceof BodyTooLarge) return constants.HTTP_STATUS_PAYLOAD_TOO_LARGE;
  if (error instanceof NoSuchFile || error instanceof NoSuchRequest) return constants.HTTP_STATUS_NOT_FOUND;
  if (error instanceof NoDisplay || error instanceof NotNow || isTaken(error)) return constants.HTTP_STATUS_CONFLICT;
  return constants.HTTP_STATUS_INTERNAL_SERVER_ERROR;
}

const isTaken = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EEXIST';
