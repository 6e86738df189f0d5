/**
 * A live site of the planted secrets: its script sends each planted request, which is answered as planted, and puts the
 * rest into storage, cookies, the console, WebSocket messages and events. So each secret also stands in a script.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Entry } from 'har-format';
import { WebSocketServer } from 'ws';
import { plantPlaces, shownIn, type PlantedSecret } from '@berth/site-report/testing/sections.ts';

export interface SecretsSite {
  /** The page to inspect, with a secret in its query. */
  url: string;
  host: string;
  places: PlantedSecret[];
  /** Labels of the places whose secret went over the wire, outside of the site's own script. */
  carried(): string[];
  close(): Promise<void>;
}

/** Browsers refuse to load what has credentials in its address. */
const hasUser = (url: string): boolean => (URL.parse(url)?.username ?? '') !== '';
const isMessages = ({ _webSocketMessages: messages, _eventSourceMessages: events }: Entry & { _eventSourceMessages?: unknown }): boolean =>
  messages !== undefined || events !== undefined;

export async function startSecretsSite(seed: number): Promise<SecretsSite> {
  const { capture, places } = plantPlaces(seed);
  const { entries } = capture.har.log;
  const wire: string[] = [];
  const calls = entries.map((entry, index) => ({ entry, index })).filter(({ entry }) => !isMessages(entry));
  const [page] = capture.pages;
  if (!page) throw new Error('no page is planted');
  const frames = entries.flatMap(({ _webSocketMessages: messages }) => messages ?? []);
  const events = entries.flatMap((entry) => (entry as { _eventSourceMessages?: { data: string }[] })._eventSourceMessages ?? []);

  const script = (): string =>
    [
      'const sent = [];',
      `const send = (path, options) => fetch(path, options).then((reply) => reply.text()).catch((error) => console.error(String(error)));`,
      ...calls.map(({ entry, index }) => callOf(entry, index)),
      `const socket = new WebSocket(location.origin.replace('http', 'ws') + '/live');`,
      `socket.onopen = () => { ${frames.flatMap(({ type, data }) => (type === 'send' ? [`socket.send(${JSON.stringify(data)});`] : [])).join('\n')} };`,
      `new EventSource('/events');`,
      ...page.localStorage.map(({ key, value }) => `localStorage.setItem(${JSON.stringify(key)}, ${JSON.stringify(value)});`),
      ...page.sessionStorage.map(({ key, value }) => `sessionStorage.setItem(${JSON.stringify(key)}, ${JSON.stringify(value)});`),
      ...page.consoleErrors.map(({ text: line }) => `console.error(${JSON.stringify(line)});`),
      'Promise.all(sent).then(() => document.body.append("All sent."));',
    ].join('\n');
  const document = (): string => {
    const { title, images, coverage, dataBlobs } = page;
    const blob = `window.__DATA__ = ${JSON.stringify(Object.fromEntries(dataBlobs.flatMap(({ keys }) => keys.map((key) => [key, 1]))))}`;
    const body = page.html.replaceAll(/<meta http-equiv="refresh"[^>]*>/g, '').replace(/^<!doctype html><html><body>/, '');
    return [
      `<!doctype html><html><head><title>${title}</title><script>${blob}</script><script src="/app.js" defer></script>`,
      ...coverage.map(({ url }) => `<script src="${relative(url)}"></script>`),
      `</head><body><h1>Secrets</h1>${images.map(({ url }) => `<img src="${relative(url)}">`).join('')}${body}`,
    ].join('');
  };
  const cookies = capture.cookies.map(({ name, value, path }) => `${name}=${value}; Path=${path}`);

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '', headers } = request;
    wire.push(url, JSON.stringify(headers), await text(request));
    const write = (body: string, type: string, more: Record<string, string | string[]> = {}): void => {
      if (url !== '/app.js') wire.push(body, JSON.stringify(more));
      response.writeHead(200, { 'content-type': type, ...more }).end(body);
    };
    const index = /^\/e(\d+)/.exec(url)?.[1];
    const planted = index === undefined ? undefined : entries[Number(index)];
    if (planted) return write(textOf(planted), planted.response.content.mimeType || 'text/plain', replyHeaders(planted));
    if (url === '/app.js') return write(script(), 'text/javascript');
    if (url === '/robots.txt') return write(capture.probes.map(({ body }) => body).join('\n'), 'text/plain');
    if (url === '/events') return write(events.map(({ data }) => `data: ${data}\n\n`).join(''), 'text/event-stream');
    if (/^\/(?:\?.*)?$/.test(url)) return write(document(), 'text/html; charset=utf-8', { 'set-cookie': cookies });
    response.writeHead(404).end();
  };
  const server = createServer((request, response) => void answer(request, response));
  const sockets = new WebSocketServer({ server, path: '/live' });
  sockets.on('connection', (socket) => {
    socket.on('message', (data: Buffer) => wire.push(data.toString()));
    for (const { type, data } of frames)
      if (type !== 'send') {
        wire.push(data);
        socket.send(data);
      }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}${relative(page.url)}`,
    host,
    places,
    carried: () => shownIn(wire.join('\n'), places),
    close: async () => {
      sockets.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A statement that sends the request. Each path begins with its number, by which it is answered. */
function callOf({ request }: Entry, index: number): string {
  const { method, url, headers, postData } = request;
  if (hasUser(url)) return `console.error('not loaded', ${JSON.stringify(url)});`;
  const options = {
    method,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    ...(postData?.text !== undefined && { body: postData.text }),
  };
  return `sent.push(send(${JSON.stringify(`/e${index}${relative(url)}`)}, ${JSON.stringify(options)}));`;
}

const relative = (url: string): string => {
  const { pathname, search, hash } = new URL(url);
  return pathname + search + hash;
};

const textOf = ({ response: { content } }: Entry): string =>
  content.encoding === 'base64' ? Buffer.from(content.text ?? '', 'base64').toString('utf8') : (content.text ?? '');

/** Those that frame a response are the server's. */
const framing = new Set(['content-type', 'content-length', 'content-encoding', 'transfer-encoding', 'connection']);
const replyHeaders = ({ response: { headers } }: Entry): Record<string, string> =>
  Object.fromEntries(headers.filter(({ name }) => !framing.has(name.toLowerCase())).map(({ name, value }) => [name, value]));
