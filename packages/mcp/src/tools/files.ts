/** Files that pages downloaded, and files for pages. */
import { z } from 'zod';
import { inLine, type Answer } from '../answer.ts';
import { tool, type ToolContext } from '../tool.ts';
import { session } from './inputs.ts';
import { pageFrom } from './read.ts';

/** A file that is read as text: more would not fit into a reply. */
const textBytesMax = 200_000;
const uploadCharsMax = 8_000_000;

export const files = tool({
  name: 'files',
  family: 'files',
  description: 'List downloads; read one as text (`get`); or upload `name` with `text` or `base64`, which returns a file id for `act`.',
  input: z.object({
    session,
    get: z.string().max(200).optional(),
    name: z.string().max(200).optional(),
    text: z.string().max(uploadCharsMax).optional(),
    base64: z.string().max(uploadCharsMax).optional(),
  }),
  async run({ session, get, name, text, base64 }, context) {
    if (get !== undefined) return readDownload(context, session, get);
    if (name === undefined) return listDownloads(context, session);
    const data = base64 ?? Buffer.from(text ?? '').toString('base64');
    const file = await context.berth.sessions.upload(session, { name, data_base64: data }, context.options);
    return { head: [`file id ${file.file_id} (${file.bytes} bytes)`] };
  },
});

async function listDownloads({ berth, options }: ToolContext, session: string): Promise<Answer> {
  const list = await berth.sessions.downloads.list(session, options);
  const lines = list.map(
    ({ download_id: id, suggested_filename: name, status, received_bytes: bytes }) => `${id} ${inLine(name, 100)} ${status} ${bytes} B`,
  );
  return lines.length === 0 ? { head: ['no downloads'] } : { page: lines.slice(0, 50).join('\n') };
}

async function readDownload({ berth, options }: ToolContext, session: string, id: string): Promise<Answer> {
  const response = await berth.sessions.downloads.get(session, id, options);
  const { bytes, isWhole } = await firstBytes(response);
  if (bytes.includes(0)) return { head: [`This file is no text: GET /v1/session/${session}/downloads/${id} has its bytes.`] };
  const answer = pageFrom(bytes.toString('utf8'), { tokens: 3000 });
  return isWhole && !answer.tail ? answer : { page: answer.page ?? '', tail: ['The file is longer: this is its start.'] };
}

async function firstBytes(response: Response): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    length += chunk.byteLength;
    // Leaving the loop closes the connection.
    if (length > textBytesMax) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, textBytesMax), isWhole: length <= textBytesMax };
}
