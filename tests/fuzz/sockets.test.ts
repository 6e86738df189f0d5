/**
 * Messages and bytes of every kind on the WebSockets of a live session. A socket
 * goes on or is closed with a code that the clients' documentation has, and the
 * session stays.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, it } from 'node:test';
import { closeCodes, endSession, listTabs } from '@berth/contract';
import { viewCloseCodes } from '@berth/contract/live-view';
import * as fc from 'fast-check';
import WebSocket from 'ws';
import { eventually, startApp, type TestApp } from '../harness.ts';
import { tokenFor, type LinkScope } from '../prepare/view-links.ts';
import { assertUnharmed, explore, Failures, heapBytes } from './fuzz-run.ts';
import { junk } from './schema-values.ts';

let served: TestApp;
const failures = new Failures();
before(async () => {
  served = await startApp({ log: failures.log });
});
after(() => served.close());

const devtoolsMethods = fc.constantFrom(
  'Browser.getVersion',
  'Browser.setDownloadBehavior',
  'Target.getTargets',
  'Target.createTarget',
  'Target.attachToTarget',
  'Target.setAutoAttach',
  'Target.closeTarget',
  'Target.createBrowserContext',
  'Target.disposeBrowserContext',
  'Target.sendMessageToTarget',
  'Page.enable',
  'Page.navigate',
  'Runtime.evaluate',
  'Network.enable',
  'Fetch.enable',
  'Input.dispatchKeyEvent',
  'Storage.getCookies',
  'IO.read',
  'Nothing.known',
  '__proto__',
  '',
);
const ids = fc.oneof({ weight: 4, arbitrary: fc.nat(100) }, { weight: 1, arbitrary: junk });
const params = fc.oneof(
  fc.constantFrom<object>(
    {},
    { url: 'about:blank' },
    { targetId: 'x' },
    { targetId: 'x', flatten: true },
    { browserContextId: 'x' },
    { autoAttach: true },
  ),
  fc.dictionary(fc.constantFrom('targetId', 'url', 'sessionId', 'expression', 'flatten', 'autoAttach', 'message', 'filter'), junk),
);
const devtoolsMessages = fc.record(
  { id: ids, method: fc.oneof({ weight: 9, arbitrary: devtoolsMethods }, { weight: 1, arbitrary: junk }), params, sessionId: junk },
  { requiredKeys: ['id', 'method'] },
);

const commandFields = {
  action: fc.constantFrom('move', 'down', 'up', 'activate', 'open', 'close', 'x'),
  x: junk,
  y: fc.double(),
  dx: fc.double(),
  button: fc.constantFrom('left', 'none', 'x'),
  buttons: fc.integer(),
  clicks: fc.integer(),
  modifiers: fc.integer(),
  key: fc.string(),
  code: fc.string(),
  text: fc.string({ unit: 'binary' }),
  seq: fc.integer(),
  width: fc.integer(),
  height: fc.nat(4000),
  to: fc.constantFrom('url', 'back', 'forward', 'reload', 'x'),
  url: fc.constantFrom('about:blank', 'javascript:1', 'http://site.test/', ''),
  tab_id: fc.string(),
};
const viewTypes = fc.constantFrom('ack', 'fit', 'mouse', 'wheel', 'key', 'text', 'compose', 'copy', 'tab', 'navigate', 'resize', 'x');
const viewCommands = fc.record({ type: viewTypes, ...commandFields }, { requiredKeys: ['type'] });

type Piece = { kind: 'text' | 'binary' | 'raw'; data: Buffer };
const pieceOf =
  (kind: Piece['kind']) =>
  (data: string | Uint8Array): Piece => ({ kind, data: Buffer.from(data) });
const bytes = fc.uint8Array({ maxLength: 200 });
const noise: fc.Arbitrary<Piece> = fc.oneof(
  fc.string({ unit: 'binary' }).map(pieceOf('text')),
  bytes.map(pieceOf('text')),
  bytes.map(pieceOf('binary')),
  junk.map((value) => pieceOf('text')(JSON.stringify(value) ?? '')),
  // After the handshake: frames that break the protocol.
  bytes.map(pieceOf('raw')),
);
const messages = (valid: fc.Arbitrary<object>): fc.Arbitrary<Piece[]> =>
  fc.array(
    fc.oneof({ weight: 6, arbitrary: valid.map((value) => pieceOf('text')(JSON.stringify(value))) }, { weight: 1, arbitrary: noise }),
    {
      minLength: 1,
      maxLength: 12,
    },
  );

const plays = fc.oneof(
  fc.record({ socket: fc.constant('cdp' as const), pieces: messages(devtoolsMessages) }),
  fc.record({ socket: fc.constant('live-view' as const), pieces: messages(viewCommands) }),
  fc.record({ socket: fc.constant('vnc' as const), pieces: fc.array(noise, { minLength: 1, maxLength: 6 }) }),
);
type Play = typeof plays extends fc.Arbitrary<infer T> ? T : never;

const paths: Record<Play['socket'], string> = { cdp: 'cdp', 'live-view': 'live-view/socket', vnc: 'vnc/websockify' };
const scopes: Record<Exclude<Play['socket'], 'cdp'>, LinkScope> = { 'live-view': 'control', vnc: 'vnc' };

/** Closing in order, by either side's rules of the WebSocket protocol, or by our own codes; never 1011, an internal error. */
const knownCodes = new Set<number>([
  1000,
  1002,
  1003,
  1005,
  1006,
  1007,
  1009,
  ...Object.values(closeCodes),
  ...Object.values(viewCloseCodes),
]);

async function open(sessionId: string, kind: Play['socket']): Promise<WebSocket> {
  const query = kind === 'cdp' ? '' : `?token=${await tokenFor(served, sessionId, scopes[kind])}`;
  const headers = kind === 'cdp' ? { authorization: `Bearer ${served.key}` } : {};
  const socket = new WebSocket(`${served.url.replace('http', 'ws')}/v1/session/${sessionId}/${paths[kind]}${query}`, { headers });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return socket;
}

/** Sends the pieces and a ping, and waits for the pong or the close. */
async function sendAll(socket: WebSocket, pieces: readonly Piece[]): Promise<number | undefined> {
  let code: number | undefined;
  let isAnswered = false;
  socket.on('close', (closedWith) => (code = closedWith)).on('pong', () => (isAnswered = true));
  socket.on('error', () => undefined).on('message', () => undefined);
  for (const { kind, data } of pieces) {
    if (socket.readyState !== WebSocket.OPEN) break;
    if (kind === 'raw') (socket as unknown as { _socket: Socket })._socket.write(data);
    else socket.send(data, { binary: kind === 'binary' });
  }
  const isCut = pieces.some(({ kind }) => kind === 'raw');
  if (socket.readyState === WebSocket.OPEN) socket.ping();
  // Raw bytes can be the beginning of a frame that never ends.
  if (!isCut) await eventually('the socket answers or is closed', () => isAnswered || code !== undefined);
  socket.terminate();
  return code;
}

async function play({ socket: kind, pieces }: Play): Promise<void> {
  const { session_id } = await served.create({ kind: 'full_browser' });
  const params = { session_id };
  const code = await sendAll(await open(session_id, kind), pieces);
  assert.ok(code === undefined || knownCodes.has(code), `closed with ${code}: ${failures.text}`);
  // A client of the browser may close the last tab, and the session with it.
  if (kind !== 'cdp') assert.equal((await served.call(listTabs, { params })).status, 200);
  assert.equal((await served.call(endSession, { params })).status, 204);
}

it('the service survives whatever WebSocket clients send', { timeout: 86_400_000 }, async () => {
  for (const some of fc.sample(plays, { seed: 1, numRuns: 20 })) await play(some);
  const before = heapBytes();
  await explore('messages on sockets', plays, play, 100);
  await assertUnharmed(served, before);
});
