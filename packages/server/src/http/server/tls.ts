/**
 * The certificate of the service's own port: read from the operator's files, and again when they change, so that whoever
 * renews it need not restart the service. Connections that are open go on with the one before.
 */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { Loop } from '@berth/lib/loop.ts';

/** Paths of PEM files. */
export interface TlsFilePaths {
  /** The certificate, followed by those that lead to its authority. */
  cert: string;
  key: string;
}

interface KeyPair {
  cert: string;
  key: string;
}

/** The message names the variable to change. */
export class CertificateUnusableError extends Error {}

const readMs = 10_000;
/** A client that sends nothing may hold a connection for so long before it is one of the service. */
const handshakeMs = 10_000;

export class TlsFiles {
  readonly watch: Loop;
  readonly #paths: TlsFilePaths;
  #pair: KeyPair;
  readonly #servers = new Set<ReturnType<typeof createServer>>();

  private constructor(paths: TlsFilePaths, pair: KeyPair) {
    this.#paths = paths;
    this.#pair = pair;
    this.watch = new Loop('tls-certificate', readMs, () => this.#reload());
  }

  /** @throws CertificateUnusableError for files that cannot be read, or that do not belong together */
  static async open(paths: TlsFilePaths): Promise<TlsFiles> {
    return new TlsFiles(paths, await read(paths));
  }

  /** When the certificate expires. */
  get expiresAt(): Date {
    return new Date(new X509Certificate(this.#pair.cert).validTo);
  }

  /** A server that speaks TLS, with the current certificate for as long as it listens. */
  createServer(settings: ServerOptions, handle: (request: IncomingMessage, response: ServerResponse) => void): Server {
    const own = { minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'], handshakeTimeout: handshakeMs } as const;
    const server = createServer({ ...settings, ...own, ...this.#pair }, handle);
    this.#servers.add(server);
    server.once('close', () => this.#servers.delete(server));
    // What came before the handshake is no request, so there is nothing to reply to.
    server.removeAllListeners('tlsClientError').on('tlsClientError', (_error, socket) => socket.destroy());
    return server;
  }

  async #reload(): Promise<void> {
    const next = await read(this.#paths);
    if (next.cert === this.#pair.cert && next.key === this.#pair.key) return;
    this.#pair = next;
    for (const server of this.#servers) server.setSecureContext(next);
  }
}

async function read(paths: TlsFilePaths): Promise<KeyPair> {
  const [cert, key] = await Promise.all([readPem('BERTH_TLS_CERT', paths.cert), readPem('BERTH_TLS_KEY', paths.key)]);
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const isMismatch = code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH';
    const why = isMismatch ? 'is not the key of that certificate' : 'and that certificate are no PEM files of a certificate and its key';
    throw new CertificateUnusableError(`BERTH_TLS_KEY: ${paths.key} ${why} (BERTH_TLS_CERT: ${paths.cert}).`, { cause });
  }
  return { cert, key };
}

async function readPem(variable: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EACCES' ? 'this user may not read it' : code;
    throw new CertificateUnusableError(`${variable}: ${path} cannot be read: ${why}.`, { cause });
  }
}
