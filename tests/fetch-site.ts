/** A site for fetch tests that serves pages by path and records every request. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
  /** Time of the request on this process's monotonic clock. */
  atMs: number;
}

type Answer = (response: ServerResponse, requests: RecordedRequest) => void;

export interface Site {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** Oldest first. */
  requests: RecordedRequest[];
  /** Sets the answer of a path for any query. Other paths answer 404. */
  on(path: string, answer: Answer): void;
  /** Sets consecutive answers of a path; the last one repeats. Returns the address. */
  sequence(path: string, ...answers: Answer[]): string;
  /** Requests for a path so far. */
  count(path: string): number;
  close(): Promise<void>;
}

/** `host` is the address to listen on. */
export async function startSite(host = '127.0.0.1'): Promise<Site> {
  const answers = new Map<string, Answer>();
  const requests: RecordedRequest[] = [];
  const server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', headers, url: path = '' } = request;
    const seen = { method, path, headers, body: '', atMs: performance.now() };
    requests.push(seen);
    seen.body = await text(request).catch(() => '');
    const handler = answers.get(path.split('?', 1)[0] ?? '');
    if (handler) handler(response, seen);
    else response.writeHead(404, { 'content-type': 'text/html' }).end('<title>Not here</title><h1>404</h1>');
  };
  server.listen(0, host);
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    on: (path, handler) => void answers.set(path, handler),
    sequence: (path, ...turns) => {
      answers.set(path, (response, seen) => (turns.length > 1 ? turns.shift() : turns[0])?.(response, seen));
      return url + path;
    },
    count: (path) => requests.filter((seen) => seen.path === path).length,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const html =
  (body: string, { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {}): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body);

export const bytes =
  (body: string | Buffer, contentType: string, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': contentType, ...headers }).end(body);

export const redirect =
  (location: string, status = 302): Answer =>
  (response) =>
    void response.writeHead(status, { location }).end();

/** Accepts the request and never answers. */
export const silence: Answer = () => undefined;

/** Accepts the request and closes the connection. */
export const hangUp: Answer = (response) => void response.destroy();
