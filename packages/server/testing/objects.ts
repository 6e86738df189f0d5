/** A bucket of the S3 protocol in this process, and a connection to it that a test can break. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import type { StorageOptions } from '../src/objects/objects.ts';

/** The only credentials that the server knows. It checks the signatures of requests for objects, version 4. */
export const testCredentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
export const testBucket = 'berth-test';

/** What happens to a request on its way; absent: nothing. */
export type InjectedFault = (request: IncomingMessage, response: ServerResponse) => 'pass' | 'handled';

export interface TestBucket {
  /** URL of the connection to the bucket, through which all requests pass. */
  endpoint: string;
  place: StorageOptions & { kind: 'bucket' };
  environment: Record<string, string>;
  /** `METHOD path?query` of each request, in the order of their arrival. */
  readonly requests: string[];
  fault: InjectedFault | null;
  /** Ends the server; its objects stay. */
  stop(): Promise<void>;
  /** Starts it again, behind the same connection. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function openTestBucket(): Promise<TestBucket> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-bucket-'));
  let server: S3rver | null = null;
  /** Requests wait for a server that is being started. */
  let running = Promise.withResolvers<number>();
  const bucket = { requests: [] as string[], fault: null as InjectedFault | null };
  const connection = createServer((incoming, response) => {
    bucket.requests.push(`${incoming.method} ${incoming.url}`);
    if (bucket.fault?.(incoming, response) === 'handled') return void incoming.resume();
    void running.promise.then((port) => pass(incoming, response, port));
  });
  const start = async (): Promise<void> => {
    server = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory, configureBuckets: [{ name: testBucket, configs: [] }] });
    server.middleware.unshift(acceptListings);
    running.resolve((await server.run()).port);
  };
  const stop = async (): Promise<void> => {
    const ended = server;
    server = null;
    if (!ended) return;
    running = Promise.withResolvers<number>();
    ended.httpServer.closeAllConnections();
    await ended.close();
  };
  await start();
  const endpoint = `http://127.0.0.1:${await listen(connection)}`;
  return Object.assign(bucket, {
    endpoint,
    place: {
      kind: 'bucket' as const,
      prefix: 'some/where/',
      bucket: testBucket,
      endpoint,
      region: 'us-east-1',
      isPathStyle: true,
      credentials: testCredentials,
    },
    environment: {
      BERTH_OBJECTS_BUCKET: testBucket,
      BERTH_OBJECTS_ENDPOINT: endpoint,
      BERTH_OBJECTS_ACCESS_KEY_ID: testCredentials.accessKeyId,
      BERTH_OBJECTS_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
    },
    start,
    stop,
    close: async () => {
      connection.closeAllConnections();
      await new Promise((resolve) => connection.close(resolve));
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  });
}

/** The server checks signatures over the path of a bucket without its last slash, which clients sign: it checks none of listings. */
const acceptListings: S3rver['middleware'][number] = (context, next) => {
  if (context.path === `/${testBucket}/`)
    context.app = Object.create(context.app, { allowMismatchedSignatures: { value: true } }) as object;
  return next();
};

/** Unchanged, also the name of the host, which is signed. */
function pass(incoming: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = incoming;
  const onward = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
    reply.pipe(response);
    reply.once('error', () => response.destroy());
  });
  onward.once('error', () => response.destroy());
  response.once('close', () => onward.destroy());
  incoming.pipe(onward);
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

/** Closes the connection, as a bucket that is down. */
export const drop: InjectedFault = (request) => {
  request.socket.destroy();
  return 'handled';
};

/** Answers like a bucket that has too much to do. */
export const slowDown = (response: ServerResponse): 'handled' => {
  response.writeHead(503, { 'content-type': 'application/xml' });
  response.end('<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>');
  return 'handled';
};
