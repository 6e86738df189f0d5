/** A site for fetches: pages by their path, and a note of every request that came. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
  /** On this process's monotonic clock. */
  atMs: number;
}

type Answer = (response: ServerResponse, asked: Asked) => void;

export interface Site {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** Oldest first. */
  asked: Asked[];
  /** What is answered under a path, whatever the query; all else is 404. */
  on(path: string, answer: Answer): void;
  /** Answers as many requests as there are answers, one after the other, and the last one again and again. Gives its address. */
  inTurn(path: string, ...answers: Answer[]): string;
  /** Requests for a path so far. */
  count(path: string): number;
  close(): Promise<void>;
}

export async function startSite(): Promise<Site> {
  const answers = new Map<string, Answer>();
  const asked: Asked[] = [];
  const server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', headers, url: path = '' } = request;
    const seen = { method, path, headers, body: '', atMs: performance.now() };
    asked.push(seen);
    seen.body = await text(request).catch(() => '');
    const known = answers.get(path.split('?', 1)[0] ?? '');
    if (known) known(response, seen);
    else response.writeHead(404, { 'content-type': 'text/html' }).end('<title>Not here</title><h1>404</h1>');
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    on: (path, known) => void answers.set(path, known),
    inTurn: (path, ...turns) => {
      answers.set(path, (response, seen) => (turns.length > 1 ? turns.shift() : turns[0])?.(response, seen));
      return url + path;
    },
    count: (path) => asked.filter((seen) => seen.path === path).length,
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

/** Takes the request and never answers. */
export const silence: Answer = () => undefined;

/** Takes the request and hangs up. */
export const hangUp: Answer = (response) => void response.destroy();
