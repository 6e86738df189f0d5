/** The entry point of a thread for large bodies: one body per call. */
import type { MessagePort } from 'node:worker_threads';
import { endpoints } from '@berth/contract';
import { toPieces, type Piece } from '@berth/lib/turns/pieces.ts';
import { parseFileForm } from './file-form.ts';
import { parseJsonBody } from './json-body.ts';
import type { Parsed } from '@berth/lib/validation/issues.ts';

export interface BodyTask {
  bytes: Uint8Array;
  endpointId: string;
  /** Media type of a form; undefined for JSON. */
  formType?: string;
  started?: MessagePort;
}

export type BodyResult = { ok: true; pieces: Piece[]; digest?: Uint8Array; isTooLarge?: boolean } | Extract<Parsed, { ok: false }>;

export default async function parse({ bytes, endpointId, formType, started }: BodyTask): Promise<BodyResult> {
  started?.postMessage(null, []);
  const endpoint = endpoints.find(({ id }) => id === endpointId);
  if (!endpoint) throw new Error(`no endpoint ${endpointId} in the contract`);
  if (formType !== undefined) {
    const { body, digest, isTooLarge } = await parseFileForm(endpoint, formType, bytes);
    return body.ok ? { ok: true, pieces: toPieces(body.value ?? null), digest, isTooLarge } : body;
  }
  const parsed = parseJsonBody(endpoint, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return parsed.ok ? { ok: true, pieces: toPieces(parsed.value) } : parsed;
}
