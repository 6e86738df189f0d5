/** A form with one file (RFC 7578), as browsers and `curl -F` send it. */
import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '@berth/contract';

const filePart = 'file';

export const isMultipart = ({ headers }: IncomingMessage): boolean => /^multipart\/form-data *;/i.test(headers['content-type'] ?? '');

interface FileForm {
  /** The body that the form stands for. */
  value: Record<string, unknown>;
  /** The fields and the file, without the form's boundaries. */
  bytes: Buffer;
}

/** null for a malformed form, and for one without exactly one file in the part `file`. */
export async function readFileForm(
  { headers }: IncomingMessage,
  form: Buffer,
  names: NonNullable<Endpoint['multipart']>,
): Promise<FileForm | null> {
  const parts = await parse(headers['content-type'] ?? '', form);
  const file = parts?.find(([name]) => name === filePart)?.[1];
  if (!parts || !(file instanceof File)) return null;
  const fields = parts.filter(([name]) => name !== filePart);
  const isRepeated = new Set(parts.map(([name]) => name)).size < parts.length;
  if (isRepeated || fields.some(([name, part]) => part instanceof File || name === names.bytes)) return null;
  const data = Buffer.from(await file.arrayBuffer());
  const value = Object.fromEntries([[names.name, file.name], ...fields, [names.bytes, data.toString('base64')]]);
  return { value, bytes: Buffer.concat([Buffer.from(JSON.stringify([file.name, fields])), data]) };
}

async function parse(type: string, form: Buffer): Promise<[string, File | string][] | null> {
  try {
    return [...(await new Response(new Uint8Array(form), { headers: { 'content-type': type } }).formData())];
  } catch {
    return null;
  }
}
