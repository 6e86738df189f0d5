/** What is done for each request of the control port. */
import { constants } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import { pipeline } from 'node:stream/promises';
import { Identity, PageSize, StartBrowser } from '@berth/contract/guest';
import type { guestRequests } from '@berth/contract/guest';
import { bounded, readJson } from './body.ts';
import { join } from './flow.ts';
import type { Machine } from './machine.ts';

/** All that a session may put into its machine. */
const uploadBytesMax = 100 * 1024 ** 2;

export type Work = (machine: Machine, stream: ServerHttp2Stream, names: string[]) => Promise<void>;

export const works: Record<keyof typeof guestRequests | 'removeDownload', Work> = {
  hello: async (machine, stream) => answer(stream, machine.hello()),
  start: async (machine, stream) => answer(stream, await machine.start(await readJson(stream, StartBrowser))),
  settle: async (machine, stream) => answer(stream, await machine.settle()),
  identify: async (machine, stream) => answer(stream, await machine.identify(await readJson(stream, Identity))),
  devtools: async (machine, stream) => meet(stream, machine.takePipe()),
  vnc: async (machine, stream) => meet(stream, await machine.openVnc()),
  display: async (machine, stream) => {
    await machine.sizeDisplay(await readJson(stream, PageSize));
    answer(stream);
  },
  uploads: async (machine, stream, [id = '', name = '']) => {
    const path = await machine.files.put(id, name, bounded(stream, uploadBytesMax));
    answer(stream, { path });
  },
  downloads: async (machine, stream, [name = '']) => {
    const file = await machine.files.openDownload(name);
    try {
      stream.respond({ [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_OK, [constants.HTTP2_HEADER_CONTENT_LENGTH]: file.bytes });
      await pipeline(file.stream(), stream);
    } finally {
      await file.close();
    }
  },
  removeDownload: async (machine, stream, [name = '']) => {
    await machine.files.removeDownload(name);
    answer(stream);
  },
  stats: async (machine, stream) => answer(stream, machine.stats()),
  exit: async (machine, stream) => answer(stream, await machine.exit()),
};

/** Nothing where there is nothing to say. Whoever has hung up is not told. */
export function answer(
  stream: ServerHttp2Stream,
  body?: object,
  status: number = body ? constants.HTTP_STATUS_OK : constants.HTTP_STATUS_NO_CONTENT,
): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond({ [constants.HTTP2_HEADER_STATUS]: status }, { endStream: !body });
  if (body) stream.end(JSON.stringify(body));
}

/** Whoever has hung up before lets go of what was opened for him, too. */
function meet(stream: ServerHttp2Stream, inside: Parameters<typeof join>[0]): void {
  if (stream.destroyed || stream.closed) {
    inside.destroy();
    return;
  }
  stream.respond({ [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_OK });
  join(stream, inside);
}
