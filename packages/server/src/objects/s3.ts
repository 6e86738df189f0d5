/** Objects in a bucket of the S3 protocol. Imported only where a bucket is configured. */
import { addAbortSignal, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { fromIni } from '@aws-sdk/credential-provider-ini';
import { Upload } from '@aws-sdk/lib-storage';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { ObjectNotFoundError, ObjectTooLargeError, type Backend, type ByteRange, type ObjectInfo } from './backend.ts';

export interface BucketOptions {
  bucket: string;
  /** null: that of AWS in the region. */
  endpoint: string | null;
  region: string;
  /** The bucket in the path of requests, not in the name of the host. */
  isPathStyle: boolean;
  /** null: what the AWS SDK finds in the environment, such as the role of the instance or pod. */
  credentials: { accessKeyId: string; secretAccessKey: string } | { file: string } | null;
  /** Time limit of one attempt until the response; an attempt of an upload sends a part of it. */
  requestMs?: number;
}

const connectMs = 5000;
const requestMsMax = 60_000;
const attemptsMax = 3;
const socketsMax = 32;
/** An object above the size of a part is uploaded in parts. Two at a time are in memory. */
export const partBytes = 8 * 1024 ** 2;
const partsAtOnce = 2;
/** A file of credentials is read again after this time, so that they can be rotated. */
const credentialsMs = 15 * 60_000;

export class S3Backend implements Backend {
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(options: BucketOptions) {
    const { bucket, endpoint, region, isPathStyle, credentials, requestMs = requestMsMax } = options;
    this.#bucket = bucket;
    const agent = { keepAlive: true, maxSockets: socketsMax };
    this.#client = new S3Client({
      region,
      forcePathStyle: isPathStyle,
      maxAttempts: attemptsMax,
      retryMode: 'standard',
      // Other servers than that of AWS do not know its newer checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: new NodeHttpHandler({
        connectionTimeout: connectMs,
        requestTimeout: requestMs,
        throwOnRequestTimeout: true,
        httpAgent: agent,
        httpsAgent: agent,
      }),
      ...(endpoint === null ? {} : { endpoint }),
      ...(credentials === null ? {} : { credentials: providerOf(credentials) }),
    });
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const upload = new Upload({
      client: this.#client,
      params: { Bucket: this.#bucket, Key: key, Body: Readable.from(body, { objectMode: false }), ContentType: 'application/octet-stream' },
      partSize: partBytes,
      queueSize: partsAtOnce,
    });
    const abort = (): void => void upload.abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      signal.throwIfAborted();
      await upload.done();
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async read(key: string, { start, end }: ByteRange, signal: AbortSignal): Promise<Buffer> {
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: key, Range: `bytes=${start}-${end}` });
    const bytes = await buffer(await this.#open(command, key, signal));
    if (bytes.length !== end - start + 1) throw new ObjectNotFoundError(`${key} ends before byte ${end}`);
    return bytes;
  }

  async readAll(key: string, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
    const body = await this.#open(new GetObjectCommand({ Bucket: this.#bucket, Key: key }), key, signal);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // Ends the response, too.
      if (bytes > bytesMax) throw new ObjectTooLargeError(key);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  async #open(command: GetObjectCommand, key: string, signal: AbortSignal): Promise<Readable> {
    const { Body } = await this.#client.send(command, { abortSignal: signal }).catch((error: unknown) => {
      throw isMissing(error) ? new ObjectNotFoundError(key, { cause: error }) : error;
    });
    // The signal of the call ends with the response's headers.
    return addAbortSignal(signal, Body as Readable);
  }

  async head(key: string, signal: AbortSignal): Promise<ObjectInfo | null> {
    try {
      const result = await this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal: signal });
      return { key, bytes: result.ContentLength ?? 0, modifiedAt: result.LastModified ?? new Date(0) };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    await this.#client
      .send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal: signal })
      .catch((error: unknown) => {
        if (!isMissing(error)) throw error;
      });
  }

  async *list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo[]> {
    for (let token: string | undefined; ;) {
      const command = new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: prefix, ...(token ? { ContinuationToken: token } : {}) });
      const page = await this.#client.send(command, { abortSignal: signal });
      yield (page.Contents ?? []).map(({ Key, Size, LastModified }) => ({
        key: Key ?? '',
        bytes: Size ?? 0,
        modifiedAt: LastModified ?? new Date(0),
      }));
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      if (token === undefined) return;
    }
  }

  async abortUploads(prefix: string, before: Date, signal: AbortSignal): Promise<number> {
    const listed = await this.#client.send(new ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix: prefix }), {
      abortSignal: signal,
    });
    const old = (listed.Uploads ?? []).filter(({ Initiated }) => Initiated !== undefined && Initiated < before);
    for (const { Key, UploadId } of old)
      await this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId }), { abortSignal: signal });
    return old.length;
  }

  close(): void {
    this.#client.destroy();
  }
}

function providerOf(credentials: NonNullable<BucketOptions['credentials']>): NonNullable<S3ClientConfig['credentials']> {
  if (!('file' in credentials)) return credentials;
  const read = fromIni({ filepath: credentials.file, ignoreCache: true });
  return async () => ({ ...(await read()), expiration: new Date(Date.now() + credentialsMs) });
}

const missingCodes = ['NoSuchKey', 'NotFound', 'InvalidRange'];

/** A missing bucket is a fault, not a missing object. */
const isMissing = (error: unknown): boolean => error instanceof S3ServiceException && missingCodes.includes(error.name);
