/** A form with one file (RFC 7578), as browsers and `curl -F` send it. */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '@berth/contract';
import { failed, noFields } from './json-body.ts';
import { parsePart, unstorable, validationIssue, type Parsed } from '@berth/lib/validation/issues.ts';

const filePart = 'file';

export const isMultipart = ({ headers }: IncomingMessage): boolean => /^multipart\/form-data *;/i.test(headers['content-type'] ?? '');

export interface ParsedForm {
  /** Whether the file has more bytes than the endpoint accepts. */
  isTooLarge: boolean;
  /** The body that the form stands for. */
  body: Parsed;
  /** Digest of the fields and the file, by which two forms are compared: each has another boundary. */
  digest: Uint8Array;
}

const noBody: Parsed = { ok: true, value: undefined };
const notAFileForm = { type: 'value_error', msg: 'Input should be a form with one file, in the part `file`' };

/** Fails for a malformed form, and for one without exactly one file in the part `file`. */
export async function parseFileForm({ multipart, body: schema = noFields }: Endpoint, type: string, form: Uint8Array): Promise<ParsedForm> {
  const file = multipart && (await readFile(type, form, multipart));
  if (!multipart || !file)
    return { body: failed(validationIssue(['body'], notAFileForm, {})), digest: new Uint8Array(), isTooLarge: false };
  if (file.data.length > multipart.bytesMax) return { body: noBody, digest: new Uint8Array(), isTooLarge: true };
  const { value, data, fields } = file;
  const { [multipart.bytes]: _, ...texts } = value;
  const issues = unstorable('body', texts);
  const digest = hash('sha256', Buffer.concat([Buffer.from(JSON.stringify(fields)), hash('sha256', data, 'buffer')]), 'buffer');
  return { body: issues.length > 0 ? failed(...issues) : parsePart('body', schema, value), digest, isTooLarge: false };
}

interface FileForm {
  value: Record<string, unknown>;
  data: Buffer;
  fields: unknown[];
}

async function readFile(type: string, form: Uint8Array, names: NonNullable<Endpoint['multipart']>): Promise<FileForm | null> {
  const parts = await parse(type, form);
  const file = parts?.find(([name]) => name === filePart)?.[1];
  if (!parts || !(file instanceof File)) return null;
  const fields = parts.filter(([name]) => name !== filePart);
  const isRepeated = new Set(parts.map(([name]) => name)).size < parts.length;
  if (isRepeated || fields.some(([name, part]) => part instanceof File || name === names.bytes)) return null;
  const data = Buffer.from(await file.arrayBuffer());
  const value = Object.fromEntries([[names.name, file.name], ...fields, [names.bytes, data.toString('base64')]]);
  return { value, data, fields: [file.name, fields] };
}

async function parse(type: string, form: Uint8Array): Promise<[string, File | string][] | null> {
  try {
    return [...(await new Response(new Uint8Array(form), { headers: { 'content-type': type } }).formData())];
  } catch {
    return null;
  }
}
