/**
 * Public texts, compressed: each content once, when it is first asked for, in the thread pool. Only for what contains no
 * secret: beside text that somebody chooses, the length of what is compressed reveals something of it.
 */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';

/** Minimum bytes to compress: smaller texts fit into one packet anyway. */
const bytesMin = 1024;
/** Texts contain the address at which they were asked for, which callers choose. All guides in both encodings are some 200. */
const retainedMax = 400;
/** The quality is a compromise: twice as long to compress is a twentieth smaller. */
const brotliQuality = 6;

const encoders: Readonly<Record<string, (data: Buffer) => Promise<Buffer>>> = {
  br: (data) =>
    promisify(brotliCompress)(data, {
      params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality, [constants.BROTLI_PARAM_SIZE_HINT]: data.length },
    }),
  gzip: (data) => promisify(gzip)(data),
};

export interface CompressedReply {
  /** 304 where the client has this content in this encoding. */
  status: 200 | 304;
  headers: Record<string, string>;
  body: Buffer;
}

export class Compressed {
  /** Compressed texts by digest and encoding; the first was asked for longest ago. */
  readonly #retained = new Map<string, Promise<Buffer>>();

  async reply(content: Buffer | string, headers: IncomingHttpHeaders): Promise<CompressedReply> {
    const data = Buffer.from(content);
    const digest = hash('sha256', data, 'base64url').slice(0, 22);
    const encoding = data.length < bytesMin ? null : negotiate(headers['accept-encoding'] ?? '', Object.keys(encoders));
    // Each encoding is a representation of its own, with an ETag of its own (RFC 9110, 8.8.3).
    const etag = `"${encoding === null ? digest : `${digest}-${encoding}`}"`;
    const sent = { etag, vary: 'accept-encoding' };
    if (matches(headers['if-none-match'], etag)) return { status: 304, headers: sent, body: Buffer.alloc(0) };
    if (encoding === null) return { status: 200, headers: sent, body: data };
    return { status: 200, headers: { ...sent, 'content-encoding': encoding }, body: await this.#encode(data, digest, encoding) };
  }

  #encode(data: Buffer, digest: string, encoding: string): Promise<Buffer> {
    const key = `${digest} ${encoding}`;
    const encoded = this.#retained.get(key) ?? encoders[encoding]?.(data) ?? Promise.resolve(data);
    this.#retained.delete(key);
    this.#retained.set(key, encoded);
    const [oldest] = this.#retained.keys();
    if (this.#retained.size > retainedMax && oldest !== undefined) this.#retained.delete(oldest);
    return encoded;
  }
}

/** `If-None-Match` compares weakly (RFC 9110, 13.1.2): proxies weaken ETags. */
const matches = (header: string | undefined, etag: string): boolean =>
  header !== undefined && header.split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()));
