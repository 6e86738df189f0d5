/** Pages by their path, on a local server that two sites share: `127.0.0.1` and `localhost` live in different processes. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Reply = string | ((request: IncomingMessage, response: ServerResponse, pages: Pages) => void);

export interface Pages {
  url: string;
  otherSite: string;
  /** The requests so far, in order. */
  requests: { path: string; headers: IncomingMessage['headers'] }[];
  replies: Record<string, Reply>;
  close(): Promise<void>;
}

/** Script that never returns. It waits for a request, so that a page which answers nothing keeps no processor busy. */
export const neverReturns = `{ const request = new XMLHttpRequest(); request.open('GET', '/never', false); request.send(); }`;

/** `{other}` in a page stands for the other site. */
export async function openPages(replies: Record<string, Reply>): Promise<Pages> {
  const requests: Pages['requests'] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    requests.push({ path: pathname, headers: request.headers });
    const reply = pages.replies[pathname];
    if (typeof reply === 'function') reply(request, response, pages);
    else if (reply === undefined) response.writeHead(404).end();
    else
      response
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        .end(`<!doctype html>${reply.replaceAll('{other}', pages.otherSite)}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  const pages: Pages = {
    url: `http://127.0.0.1:${port}`,
    otherSite: `http://localhost:${port}`,
    requests,
    replies: { '/never': () => {}, ...replies },
    close,
  };
  return pages;
}
