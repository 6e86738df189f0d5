import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { LiveViewCommand } from '@berth/contract/live-view';
import WebSocket, { WebSocketServer } from 'ws';
import { Seen, Watched, never, until } from './live-view.fixture.ts';
import { viewersMax } from './live-view.ts';
import type { ViewerScope } from './viewer.ts';

let watched: Watched;
let server: Server;
/** Of the next who joins. */
let joining: ViewerScope;
/** The service's end of who joined last. */
let latest: WebSocket;
beforeEach(async () => {
  watched = new Watched();
  server = createServer();
  const { live, hold } = watched;
  new WebSocketServer({ server }).on('connection', (socket) => {
    latest = socket;
    live.join(socket, { scope: joining, hold });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  server.close();
  watched.session.end('requested');
  await until('the live view is empty', () => watched.browser.watching === 0);
});

class Watcher extends Seen {
  readonly socket: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;

  constructor() {
    super();
    this.socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, { perMessageDeflate: false });
    this.closed = new Promise((resolve) => this.socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })));
    this.socket.on('message', (data: Buffer, isBinary) => this.take(data, isBinary));
  }

  say(command: LiveViewCommand): void {
    this.socket.send(JSON.stringify(command));
  }

  /** Acknowledges the newest frame. */
  ack(): void {
    this.say({ type: 'ack', seq: this.frames.at(-1)?.seq ?? never('there was no frame') });
  }
}

async function join(scope: ViewerScope = 'view'): Promise<Watcher> {
  joining = scope;
  const watcher = new Watcher();
  await once(watcher.socket, 'open');
  return watcher;
}

const seen = (watcher: Watcher, texts: string[]): Promise<void> =>
  until(`the frames ${texts.join(', ')} are there`, () => watcher.texts().join() === texts.join());

/** The server has read all that the watcher said before. */
async function heard(watcher: Watcher): Promise<void> {
  const answers = (): number => watcher.of('failed').length + watcher.of('clipboard').length;
  const before = answers();
  watcher.say({ type: 'copy' });
  await until('the last command is answered', () => answers() > before);
}

describe('a live view', () => {
  it('is one watch of the browser for all who look, from the first to the last', async () => {
    const [first, second] = [await join(), await join()];
    await until('both are there', () => watched.session.viewers === 2);
    assert.equal(watched.browser.watching, 1);
    watched.browser.draw('one');
    await Promise.all([seen(first, ['one']), seen(second, ['one'])]);
    first.socket.close();
    await until('one is left', () => watched.session.viewers === 1);
    assert.equal(watched.browser.watching, 1);
    second.socket.close();
    await until('none is left', () => watched.browser.watching === 0);
    assert.equal(watched.emptied, 1);
    assert.equal(watched.browser.listening, 0);
    assert.equal(watched.held.size, 0);
  });

  it('greets with what the page needs, and then the state', async () => {
    const watcher = await join('control');
    await until('it was greeted', () => watcher.messages.length >= 2);
    assert.deepEqual(watcher.messages.slice(0, 2), [
      { type: 'hello', session_id: 'ses_1', scope: 'control', expires_at: '1970-01-01T00:15:00.000Z' },
      { type: 'state', tabs: [{ tab_id: 'T1', title: 'Site', url: 'http://site.test/', active: true, status: 'complete' }], viewers: 1 },
    ]);
  });

  it('tells what pages choose cut to a bound, and much at once only once', async () => {
    const watcher = await join();
    await until('the state is there', () => watcher.of('state').length > 0);
    const [tab] = watched.browser.tabList;
    assert.ok(tab);
    for (let turn = 0; turn < 100; turn += 1)
      watched.browser.changeTabs([{ ...tab, title: '<b>'.repeat(1_000_000), url: `http://site.test/${turn}/${'x'.repeat(9000)}` }]);
    const last = (): string => watcher.of('state').at(-1)?.tabs[0]?.url ?? '';
    await until('the last is told', () => last().startsWith('http://site.test/99/'));
    assert.equal(last().length, 2048);
    assert.equal(watcher.of('state').at(-1)?.tabs[0]?.title.length, 300);
    assert.ok(watcher.of('state').length <= 4, `${watcher.of('state').length} states were told`);
  });

  it('shows the latest picture at once to one who comes while nothing moves', async () => {
    await join();
    watched.browser.draw('still');
    const late = await join();
    await seen(late, ['still']);
  });

  it('tells of who comes and goes among the session’s events', async () => {
    const watcher = await join('control');
    await until('it is there', () => watched.session.viewers === 1);
    watcher.socket.close();
    await until('it is gone', () => watched.session.viewers === 0);
    assert.deepEqual(watched.session.told, [
      ['viewer.joined', { viewers: 1, scope: 'control' }],
      ['viewer.left', { viewers: 0, scope: 'control' }],
    ]);
  });

  it('closes the socket of one viewer too many', async () => {
    await Promise.all(Array.from({ length: viewersMax }, () => join()));
    await until('all are there', () => watched.session.viewers === viewersMax);
    const late = await join();
    assert.deepEqual(await late.closed, { code: 4009, reason: 'limit' });
    assert.deepEqual(late.messages, [{ type: 'ended', reason: 'limit' }]);
    assert.equal(watched.session.viewers, viewersMax);
  });
});

describe('the pace of frames', () => {
  it('is what a viewer acknowledges: two on their way, the newest next, those between lost', async () => {
    const watcher = await join();
    await until('it is there', () => watched.browser.watching === 1);
    for (const text of ['1', '2', '3', '4', '5']) watched.browser.draw(text);
    await seen(watcher, ['1', '2']);
    watcher.ack();
    await seen(watcher, ['1', '2', '5']);
    watched.browser.draw('6');
    await seen(watcher, ['1', '2', '5', '6']);
    watched.browser.draw('7');
    watcher.say({ type: 'ack', seq: 1_000_000 });
    await heard(watcher);
    assert.deepEqual(watcher.texts(), ['1', '2', '5', '6']);
    watcher.ack();
    await seen(watcher, ['1', '2', '5', '6', '7']);
  });

  it('is each viewer’s own', async () => {
    const [slow, quick] = [await join(), await join()];
    await until('both are there', () => watched.session.viewers === 2);
    for (const text of ['1', '2', '3', '4']) {
      watched.browser.draw(text);
      await until(`the quick one has ${text}`, () => quick.texts().at(-1) === text);
      quick.ack();
      await heard(quick);
    }
    assert.deepEqual(quick.texts(), ['1', '2', '3', '4']);
    assert.deepEqual(slow.texts(), ['1', '2']);
  });

  it('asks next to nothing of the browser while nobody takes frames, and lets go of one who never does', async () => {
    const watcher = await join();
    await until('it is there', () => watched.browser.watching === 1);
    for (const text of ['1', '2', '3']) watched.browser.draw(text);
    await seen(watcher, ['1', '2']);
    watched.clock.advance(59_000);
    await until('less is asked for', () => watched.browser.demands.at(-1)?.framesPerSecond === 1);
    watched.clock.advance(1000);
    assert.deepEqual(await watcher.closed, { code: 4009, reason: 'limit' });
    assert.deepEqual(watcher.messages.at(-1), { type: 'ended', reason: 'not_watching' });
  });

  it('keeps no more than a bound for one who says that it watches and does not read', async () => {
    const watcher = await join();
    await until('it is there', () => watched.browser.watching === 1);
    watcher.socket.pause();
    const frame = 'x'.repeat(1_000_000);
    let heldBytesMax = 0;
    for (let seq = 1; seq <= 100; seq += 1) {
      watched.browser.draw(frame);
      watcher.say({ type: 'ack', seq });
      await wait(2);
      heldBytesMax = Math.max(heldBytesMax, latest.bufferedAmount);
    }
    assert.ok(heldBytesMax < 2 * 1024 * 1024 + 100_000, `${heldBytesMax} bytes are held`);
    watcher.socket.resume();
    await until('it gets the newest', () => watcher.frames.at(-1)?.seq === 100);
    assert.ok(watcher.frames.length < 60, `${watcher.frames.length} of 100 frames came`);
  });
});

describe('what the browser is asked for', () => {
  it('is what the one can use who can use most', async () => {
    const [phone, screen] = [await join(), await join()];
    phone.say({ type: 'fit', width: 390, height: 844 });
    screen.say({ type: 'fit', width: 100_000, height: 700 });
    await until('both were heard', () => watched.browser.demands.at(-1)?.maxWidth === 3840);
    assert.deepEqual(watched.browser.demands.at(-1), { maxWidth: 3840, maxHeight: 844, quality: 80, framesPerSecond: 25 });
    screen.socket.close();
    await until('the other counts alone', () => watched.browser.demands.at(-1)?.maxWidth === 390);
  });

  it('changes a few times a second at most', async () => {
    const watcher = await join();
    for (let width = 100; width < 300; width += 1) watcher.say({ type: 'fit', width, height: 100 });
    await until('the last was heard', () => watched.browser.demands.at(-1)?.maxWidth === 299);
    assert.ok(watched.browser.demands.length <= 4, `${watched.browser.demands.length} changes`);
  });
});

describe('the end of a live view', () => {
  for (const [endedReason, code, reason] of [
    ['requested', 4000, 'session_ended'],
    ['idle_timeout', 4000, 'session_ended'],
    ['plan_limit', 4000, 'session_ended'],
    ['credits_exhausted', 4000, 'session_ended'],
    ['out_of_memory', 4008, 'browser_crashed'],
    ['drained', 1012, 'service_restart'],
  ] as const)
    it(`is told with code ${code} and its cause where the session ended by ${endedReason}`, async () => {
      const watcher = await join();
      await until('it is there', () => watched.session.viewers === 1);
      watched.session.end(endedReason);
      assert.deepEqual(await watcher.closed, { code, reason });
      assert.deepEqual(watcher.messages.at(-1), { type: 'ended', reason: endedReason });
      assert.equal(watched.session.viewers, 0);
      assert.equal(watched.emptied, 1);
    });

  it('comes at once to one who arrives too late, and leaves nothing', async () => {
    watched.session.end('requested');
    const watcher = await join();
    assert.deepEqual(await watcher.closed, { code: 4000, reason: 'session_ended' });
    assert.equal(watched.browser.demands.length, 0);
    assert.equal(watched.emptied, 1);
    assert.equal(watched.held.size, 0);
  });

  it('comes to the one whose link is taken back, and not to the others', async () => {
    const mine = await join();
    await until('it is held', () => watched.held.size === 1);
    const [close] = watched.held;
    const other = await join();
    close?.('unauthorized');
    assert.deepEqual(await mine.closed, { code: 4003, reason: 'unauthorized' });
    watched.browser.draw('on');
    await seen(other, ['on']);
  });
});

const click: LiveViewCommand & { type: 'mouse' } = {
  type: 'mouse',
  action: 'down',
  x: 1,
  y: 2,
  button: 'left',
  buttons: 1,
  clicks: 1,
  modifiers: 0,
};

describe('a viewer’s hands', () => {
  it('do what is said on the active tab, in order', async () => {
    const watcher = await join('control');
    watcher.say(click);
    watcher.say({ type: 'wheel', x: 1, y: 2, dx: 0, dy: 10, modifiers: 0 });
    watcher.say({ type: 'key', action: 'down', key: 'a', code: 'KeyA', modifiers: 0, repeat: false, location: 0 });
    watcher.say({ type: 'text', text: '漢字' });
    watcher.say({ type: 'compose', text: 'か', start: 1, end: 1 });
    await until('all is done', () => watched.browser.acts.length === 5);
    assert.deepEqual(watched.browser.acts, [
      ['T1', 'mouse', { action: 'down', x: 1, y: 2, button: 'left', buttons: 1, clicks: 1, modifiers: 0 }],
      ['T1', 'wheel', { x: 1, y: 2, dx: 0, dy: 10, modifiers: 0 }],
      ['T1', 'key', { action: 'down', key: 'a', code: 'KeyA', modifiers: 0, repeat: false, location: 0 }],
      ['T1', 'insertText', '漢字'],
      ['T1', 'compose', ['か', 1, 1]],
    ]);
  });

  it('do nothing by a link that is for watching', async () => {
    const watcher = await join('view');
    for (const command of [click, { type: 'copy' }, { type: 'tab', action: 'open' }, { type: 'navigate', to: 'reload' }] as const)
      watcher.say(command);
    await until('all were refused', () => watcher.of('failed').length === 4);
    assert.ok(watcher.of('failed').every(({ code }) => code === 'not_allowed'));
    assert.deepEqual(watched.browser.acts, []);
  });

  it('let go of what they hold when the tab changes, and when they leave', async () => {
    const watcher = await join('control');
    watcher.say(click);
    await until('it is pressed', () => watched.browser.acts.length === 1);
    const [tab] = watched.browser.tabList;
    assert.ok(tab);
    watched.browser.changeTabs([
      { ...tab, active: false },
      { ...tab, tabId: 'T2' },
    ]);
    watcher.say(click);
    await until('it is pressed elsewhere', () => watched.browser.acts.length === 3);
    watcher.socket.terminate();
    await until('all is let go', () => watched.browser.acts.length === 4);
    assert.deepEqual(
      watched.browser.acts.map(([tabId, act]) => `${tabId} ${act}`),
      ['T1 mouse', 'T1 release', 'T2 mouse', 'T2 release'],
    );
  });

  it('give what is selected to the one who asks for it', async () => {
    const watcher = await join('control');
    watcher.say({ type: 'copy' });
    await until('it is there', () => watcher.of('clipboard').length === 1);
    assert.deepEqual(watcher.of('clipboard'), [{ type: 'clipboard', text: 'what is selected' }]);
  });

  it('pile up nothing on a page that takes no input, and still let go', async () => {
    const taken = Promise.withResolvers<void>();
    watched.browser.inputTaken = taken.promise;
    const watcher = await join('control');
    for (let turn = 0; turn < 400; turn += 1) watcher.say({ ...click, action: 'move' });
    watcher.say({ ...click, action: 'up' });
    const isUp = ([, , given]: (typeof watched.browser.acts)[number]): boolean => (given as { action?: string }).action === 'up';
    await until('the button comes up', () => watched.browser.acts.some(isUp));
    assert.equal(watched.browser.acts.length, 257);
    taken.resolve();
  });

  it('keep the session awake, which watching does not', async () => {
    const watcher = await join('control');
    watched.browser.draw('1');
    await seen(watcher, ['1']);
    watcher.ack();
    watcher.say({ type: 'fit', width: 100, height: 100 });
    await until('it was heard', () => watched.browser.demands.length > 1);
    assert.equal(watched.session.touches, 0);
    watcher.say(click);
    await until('it was done', () => watched.browser.acts.length === 1);
    assert.equal(watched.session.touches, 1);
  });
});

describe('what no page of ours says', () => {
  it('closes the socket, and what is said after it is not heard', async () => {
    for (const [what, data] of [
      ['no JSON', 'x'],
      ['no command', '{"type":"evaluate"}'],
      ['bytes', Buffer.from('{"type":"copy"}')],
      ['too much', JSON.stringify({ type: 'text', text: 'x'.repeat(600_000) })],
    ] as const) {
      const watcher = await join('control');
      watcher.socket.send(data);
      watcher.say(click);
      assert.deepEqual(await watcher.closed, { code: 4010, reason: 'bad_message' }, what);
    }
    assert.deepEqual(watched.browser.acts, []);
  });

  it('is more than five hundred commands in a second', async () => {
    const watcher = await join('control');
    for (let turn = 0; turn < 500; turn += 1) watcher.say({ type: 'ack', seq: turn });
    watcher.say(click);
    assert.deepEqual(await watcher.closed, { code: 4010, reason: 'bad_message' });
    assert.deepEqual(watched.browser.acts, []);
  });

  it('may come again in the next second', async () => {
    const watcher = await join('control');
    for (let turn = 0; turn < 499; turn += 1) watcher.say({ type: 'ack', seq: turn });
    await heard(watcher);
    watched.clock.advance(1000);
    watcher.say(click);
    await until('it was done', () => watched.browser.acts.length === 1);
  });
});
