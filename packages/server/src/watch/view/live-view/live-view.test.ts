import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { LiveViewCommand } from '@berth/contract/live-view';
import WebSocket, { WebSocketServer } from 'ws';
import type { Connection } from '../../../../../devtools/src/browser/cdp/connection.ts';
import { Screencast } from '../../../../../devtools/src/browser/screencast/screencast.ts';
import type { Tab } from '../../../../../devtools/src/browser/tabs/tab.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { ReceivedMessages, LiveViewFixture, fail } from '../../../../testing/live-view.ts';
import { viewersMax } from './live-view.ts';
import type { ViewerScope } from './viewer.ts';

const front = { id: 'T1', sessionId: 'S1', status: 'complete', viewport: null, closed: new AbortController() } as unknown as Tab;
let fixture: LiveViewFixture;
let server: Server;
/** Scope of the next viewer. */
let joining: ViewerScope;
/** The service's socket of the last viewer. */
let latest: WebSocket;
beforeEach(async () => {
  fixture = new LiveViewFixture((connection) => new Screencast({ connection: connection as unknown as Connection, front: () => front }));
  server = createServer();
  const { live, registerConnection } = fixture;
  new WebSocketServer({ server }).on('connection', (socket) => {
    latest = socket;
    live.join(socket, { scope: joining, registerConnection });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  server.close();
  fixture.session.end('requested');
  await eventually('the live view is empty', () => fixture.browser.watching === 0);
});

class TestViewer extends ReceivedMessages {
  readonly socket: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;

  constructor() {
    super();
    this.socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, { perMessageDeflate: false });
    this.closed = new Promise((resolve) => this.socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })));
    this.socket.on('message', (data: Buffer, isBinary) => this.receive(data, isBinary));
  }

  send(command: LiveViewCommand): void {
    this.socket.send(JSON.stringify(command));
  }

  /** Acknowledges the newest frame. */
  ack(): void {
    this.send({ type: 'ack', seq: this.frames.at(-1)?.seq ?? fail('there was no frame') });
  }
}

async function join(scope: ViewerScope = 'view'): Promise<TestViewer> {
  joining = scope;
  const viewer = new TestViewer();
  await once(viewer.socket, 'open');
  return viewer;
}

const framesArrive = (viewer: TestViewer, texts: string[]): Promise<unknown> =>
  eventually(`the frames ${texts.join(', ')} are there`, () => viewer.texts().join() === texts.join());

/** Waits until the server has processed all earlier commands. */
async function commandsProcessed(viewer: TestViewer): Promise<void> {
  const replies = (): number => viewer.of('failed').length + viewer.of('clipboard').length;
  const before = replies();
  viewer.send({ type: 'copy' });
  await eventually('the last command is answered', () => replies() > before);
}

describe('a live view', () => {
  it('a live view shares one screencast between all viewers, from the first to the last', async () => {
    const [first, second] = [await join(), await join()];
    await eventually('both are there', () => fixture.session.viewers === 2);
    assert.equal(fixture.browser.connection.running, 1);
    fixture.browser.connection.draw('one');
    await Promise.all([framesArrive(first, ['one']), framesArrive(second, ['one'])]);
    first.socket.close();
    await eventually('one is left', () => fixture.session.viewers === 1);
    assert.equal(fixture.browser.connection.running, 1);
    second.socket.close();
    await eventually('none is left', () => fixture.session.viewers === 0);
    await eventually('nothing is drawn', () => fixture.browser.connection.running === 0);
    assert.equal(fixture.browser.watching, 0);
    assert.equal(fixture.emptyCount, 1);
    assert.equal(fixture.browser.listening, 0);
    assert.equal(fixture.connections.size, 0);
  });

  it('a live view greets with what the page needs, and then the state', async () => {
    const viewer = await join('control');
    await eventually('it was greeted', () => viewer.messages.length >= 2);
    assert.deepEqual(viewer.messages.slice(0, 2), [
      { type: 'hello', session_id: 'ses_1', scope: 'control', expires_at: '1970-01-01T00:15:00.000Z' },
      {
        type: 'state',
        tabs: [{ tab_id: 'T1', title: 'Site', url: 'http://site.test/', active: true, status: 'complete', failure: null }],
        viewers: 1,
        session: { name: 'shopping', expires_at: '1970-01-01T00:15:00.000Z' },
        drivers: { people: 1, clients: 0, api: false },
        history: { back: false, forward: false },
        downloads: [],
      },
    ]);
  });

  it('a live view truncates titles and addresses, and combines quick changes into one state', async () => {
    const viewer = await join();
    await eventually('the state is there', () => viewer.of('state').length > 0);
    const [tab] = fixture.browser.tabList;
    assert.ok(tab);
    for (let turn = 0; turn < 100; turn += 1)
      fixture.browser.changeTabs([{ ...tab, title: '<b>'.repeat(1_000_000), url: `http://site.test/${turn}/${'x'.repeat(9000)}` }]);
    const last = (): string => viewer.of('state').at(-1)?.tabs[0]?.url ?? '';
    await eventually('the last state is there', () => last().startsWith('http://site.test/99/'));
    assert.equal(last().length, 2048);
    assert.equal(viewer.of('state').at(-1)?.tabs[0]?.title.length, 300);
    assert.ok(viewer.of('state').length <= 4, `${viewer.of('state').length} states were sent`);
  });

  it('a live view shows the latest picture at once to a viewer who comes while nothing moves', async () => {
    await join();
    fixture.browser.connection.draw('still');
    const late = await join();
    await framesArrive(late, ['still']);
  });

  it('a live view says that calls of the API drive the session, unless they only read', async () => {
    const viewer = await join('control');
    const drives = (): boolean | undefined => viewer.of('state').at(-1)?.drivers.api;
    await eventually('the state is there', () => drives() === false);
    fixture.session.report('action', { name: 'storage_state', status: 'ok' });
    fixture.browser.changeTabs(fixture.browser.tabList.map((tab) => ({ ...tab, title: 'later' })));
    await eventually('the next state is there', () => viewer.of('state').at(-1)?.tabs[0]?.title === 'later');
    assert.equal(drives(), false);
    fixture.session.report('action', { name: 'navigate', status: 'ok' });
    await eventually('the call is there', () => drives() === true);
  });

  it('a live view emits an event when a viewer joins or leaves', async () => {
    const viewer = await join('control');
    await eventually('it is there', () => fixture.session.viewers === 1);
    viewer.socket.close();
    await eventually('it has left', () => fixture.session.viewers === 0);
    assert.deepEqual(fixture.session.emitted, [
      ['viewer.joined', { viewers: 1, scope: 'control' }],
      ['viewer.left', { viewers: 0, scope: 'control' }],
    ]);
  });

  it('a live view closes the socket of one viewer too many', async () => {
    await Promise.all(Array.from({ length: viewersMax }, () => join()));
    await eventually('all are there', () => fixture.session.viewers === viewersMax);
    const late = await join();
    assert.deepEqual(await late.closed, { code: 4009, reason: 'limit' });
    assert.deepEqual(late.messages, [{ type: 'ended', reason: 'limit' }]);
    assert.equal(fixture.session.viewers, viewersMax);
  });
});

describe('the pace of frames', () => {
  it('the pace of frames follows acknowledgements: two in flight, the newest next, those between dropped', async () => {
    const viewer = await join();
    await eventually('it is there', () => fixture.browser.watching === 1);
    for (const text of ['1', '2', '3', '4', '5']) fixture.browser.connection.draw(text);
    await framesArrive(viewer, ['1', '2']);
    viewer.ack();
    await framesArrive(viewer, ['1', '2', '5']);
    fixture.browser.connection.draw('6');
    await framesArrive(viewer, ['1', '2', '5', '6']);
    fixture.browser.connection.draw('7');
    viewer.send({ type: 'ack', seq: 1_000_000 });
    await commandsProcessed(viewer);
    assert.deepEqual(viewer.texts(), ['1', '2', '5', '6']);
    viewer.ack();
    await framesArrive(viewer, ['1', '2', '5', '6', '7']);
  });

  it('the pace of frames is each viewer’s own', async () => {
    const [slow, quick] = [await join(), await join()];
    await eventually('both are there', () => fixture.session.viewers === 2);
    for (const text of ['1', '2', '3', '4']) {
      fixture.browser.connection.draw(text);
      await eventually(`the quick one has ${text}`, () => quick.texts().at(-1) === text);
      quick.ack();
      await commandsProcessed(quick);
    }
    assert.deepEqual(quick.texts(), ['1', '2', '3', '4']);
    assert.deepEqual(slow.texts(), ['1', '2']);
  });

  it('a live view requests almost no frames while none is acknowledged, and closes a viewer that never does', async () => {
    const viewer = await join();
    await eventually('it is there', () => fixture.browser.watching === 1);
    assert.equal(fixture.browser.screencast.demand?.framesPerSecond, 1);
    for (const text of ['1', '2', '3']) fixture.browser.connection.draw(text);
    await framesArrive(viewer, ['1', '2']);
    fixture.clock.advance(59_000);
    await eventually('less is asked for', () => fixture.browser.screencast.demand?.quality === 30);
    assert.equal(fixture.browser.screencast.demand?.framesPerSecond, 1);
    fixture.clock.advance(1000);
    assert.deepEqual(await viewer.closed, { code: 4009, reason: 'limit' });
    assert.deepEqual(viewer.messages.at(-1), { type: 'ended', reason: 'not_watching' });
  });

  it('a live view buffers a bounded amount for a viewer that acknowledges and does not read', async () => {
    const viewer = await join();
    await eventually('it is there', () => fixture.browser.watching === 1);
    viewer.socket.pause();
    const frame = 'x'.repeat(1_000_000);
    let bufferedBytesMax = 0;
    for (let seq = 1; seq <= 100; seq += 1) {
      fixture.browser.connection.draw(frame);
      viewer.send({ type: 'ack', seq });
      await sleep(2);
      bufferedBytesMax = Math.max(bufferedBytesMax, latest.bufferedAmount);
    }
    assert.ok(bufferedBytesMax < 2 * 1024 * 1024 + 100_000, `${bufferedBytesMax} bytes are buffered`);
    viewer.socket.resume();
    await eventually('it gets the newest', () => viewer.frames.at(-1)?.seq === 100);
    assert.ok(viewer.frames.length < 60, `${viewer.frames.length} of 100 frames came`);
  });
});

describe('what the browser is asked for', () => {
  it('the screencast that the browser is asked for is the highest demand of any viewer', async () => {
    const [phone, screen] = [await join(), await join()];
    phone.send({ type: 'fit', width: 390, height: 844 });
    screen.send({ type: 'fit', width: 100_000, height: 700 });
    const { connection, screencast } = fixture.browser;
    await eventually('both were heard', () => connection.starts.at(-1)?.maxWidth === 3840);
    assert.deepEqual(connection.starts.at(-1), { format: 'jpeg', maxWidth: 3840, maxHeight: 844, quality: 80 });
    connection.draw('1');
    await framesArrive(screen, ['1']);
    screen.ack();
    await eventually('its rate is that of a viewer who watches', () => screencast.demand?.framesPerSecond === 25);
    screen.socket.close();
    await eventually('the other counts alone', () => connection.starts.at(-1)?.maxWidth === 390);
  });

  it('the screencast that the browser is asked for changes a few times a second at most', async () => {
    const viewer = await join();
    const startMs = performance.now();
    for (let width = 100; width < 300; width += 1) viewer.send({ type: 'fit', width, height: 100 });
    const { starts } = fixture.browser.connection;
    await eventually('the last was heard', () => starts.at(-1)?.maxWidth === 299);
    // The wishes may come over seconds where the machine is busy.
    const seconds = (performance.now() - startMs) / 1000;
    assert.ok(starts.length <= 4 * Math.max(1, seconds), `${starts.length} changes in ${seconds} s`);
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
    it(`the end of a live view is sent with code ${code} and its cause when the session ended by ${endedReason}`, async () => {
      const viewer = await join();
      await eventually('it is there', () => fixture.session.viewers === 1);
      fixture.session.end(endedReason);
      assert.deepEqual(await viewer.closed, { code, reason });
      assert.deepEqual(viewer.messages.at(-1), { type: 'ended', reason: endedReason });
      assert.equal(fixture.session.viewers, 0);
      assert.equal(fixture.emptyCount, 1);
    });

  it('the end of a live view comes at once to a viewer that joins too late, and leaves nothing', async () => {
    fixture.session.end('requested');
    const viewer = await join();
    assert.deepEqual(await viewer.closed, { code: 4000, reason: 'session_ended' });
    assert.equal(fixture.browser.connection.starts.length, 0);
    assert.equal(fixture.emptyCount, 1);
    assert.equal(fixture.connections.size, 0);
  });

  it('the end of a live view comes to the viewer whose link is revoked, and not to the others', async () => {
    const mine = await join();
    await eventually('it is held', () => fixture.connections.size === 1);
    const [close] = fixture.connections;
    const other = await join();
    close?.('unauthorized');
    assert.deepEqual(await mine.closed, { code: 4003, reason: 'unauthorized' });
    fixture.browser.connection.draw('on');
    await framesArrive(other, ['on']);
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

describe('a viewer’s input', () => {
  it('a viewer’s input reaches the active tab, in order', async () => {
    const viewer = await join('control');
    viewer.send(click);
    viewer.send({ type: 'wheel', x: 1, y: 2, dx: 0, dy: 10, modifiers: 0 });
    viewer.send({ type: 'key', action: 'down', key: 'a', code: 'KeyA', modifiers: 0, repeat: false, location: 0 });
    viewer.send({ type: 'text', text: '漢字' });
    viewer.send({ type: 'compose', text: 'か', start: 1, end: 1 });
    await eventually('all is done', () => fixture.browser.inputs.length === 5);
    assert.deepEqual(fixture.browser.inputs, [
      ['T1', 'mouse', { action: 'down', x: 1, y: 2, button: 'left', buttons: 1, clicks: 1, modifiers: 0 }],
      ['T1', 'wheel', { x: 1, y: 2, dx: 0, dy: 10, modifiers: 0 }],
      ['T1', 'key', { action: 'down', key: 'a', code: 'KeyA', modifiers: 0, repeat: false, location: 0 }],
      ['T1', 'insertText', '漢字'],
      ['T1', 'compose', ['か', 1, 1]],
    ]);
  });

  it('a viewer’s input is refused for a view-only link', async () => {
    const viewer = await join('view');
    for (const command of [click, { type: 'copy' }, { type: 'tab', action: 'open' }, { type: 'navigate', to: 'reload' }] as const)
      viewer.send(command);
    await eventually('all were refused', () => viewer.of('failed').length === 4);
    assert.ok(viewer.of('failed').every(({ code }) => code === 'not_allowed'));
    assert.deepEqual(fixture.browser.inputs, []);
  });

  it('a viewer’s input is released when the tab changes, and when the viewer leaves', async () => {
    const viewer = await join('control');
    viewer.send(click);
    await eventually('it is pressed', () => fixture.browser.inputs.length === 1);
    const [tab] = fixture.browser.tabList;
    assert.ok(tab);
    fixture.browser.changeTabs([
      { ...tab, active: false },
      { ...tab, tabId: 'T2' },
    ]);
    viewer.send(click);
    await eventually('it is pressed elsewhere', () => fixture.browser.inputs.length === 3);
    viewer.socket.terminate();
    await eventually('all is released', () => fixture.browser.inputs.length === 4);
    assert.deepEqual(
      fixture.browser.inputs.map(([tabId, act]) => `${tabId} ${act}`),
      ['T1 mouse', 'T1 release', 'T2 mouse', 'T2 release'],
    );
  });

  it('a viewer’s input returns the selection to the viewer that copies it', async () => {
    const viewer = await join('control');
    viewer.send({ type: 'copy' });
    await eventually('it is there', () => viewer.of('clipboard').length === 1);
    assert.deepEqual(viewer.of('clipboard'), [{ type: 'clipboard', text: 'what is selected' }]);
  });

  it('a viewer’s input is bounded for a page that takes no input, except releases', async () => {
    const taken = Promise.withResolvers<void>();
    fixture.browser.inputGate = taken.promise;
    const viewer = await join('control');
    for (let turn = 0; turn < 400; turn += 1) viewer.send({ ...click, action: 'move' });
    viewer.send({ ...click, action: 'up' });
    const isUp = ([, , given]: (typeof fixture.browser.inputs)[number]): boolean => (given as { action?: string }).action === 'up';
    await eventually('the button comes up', () => fixture.browser.inputs.some(isUp));
    assert.equal(fixture.browser.inputs.length, 257);
    assert.deepEqual(viewer.of('failed'), []);
    viewer.send({ ...click, action: 'down' });
    await eventually('the viewer reads that a press was dropped', () => viewer.of('failed').length === 1);
    assert.equal(fixture.browser.inputs.length, 257);
    taken.resolve();
  });

  it('a viewer’s input keeps the session from idling, which watching does not', async () => {
    const viewer = await join('control');
    fixture.browser.connection.draw('1');
    await framesArrive(viewer, ['1']);
    viewer.ack();
    viewer.send({ type: 'fit', width: 100, height: 100 });
    await eventually('it was heard', () => fixture.browser.screencast.demand?.maxWidth === 100);
    assert.equal(fixture.session.touches, 0);
    viewer.send(click);
    await eventually('it was done', () => fixture.browser.inputs.length === 1);
    assert.equal(fixture.session.touches, 1);
  });
});

describe('an invalid command', () => {
  it('an invalid command of a viewer closes the socket, and later commands are ignored', async () => {
    for (const [what, data] of [
      ['no JSON', 'x'],
      ['no command', '{"type":"evaluate"}'],
      ['bytes', Buffer.from('{"type":"copy"}')],
      ['too much', JSON.stringify({ type: 'text', text: 'x'.repeat(600_000) })],
    ] as const) {
      const viewer = await join('control');
      viewer.socket.send(data);
      viewer.send(click);
      assert.deepEqual(await viewer.closed, { code: 4010, reason: 'bad_message' }, what);
    }
    assert.deepEqual(fixture.browser.inputs, []);
  });

  it('more than five hundred commands of a viewer in a second close the socket', async () => {
    const viewer = await join('control');
    for (let turn = 0; turn < 500; turn += 1) viewer.send({ type: 'ack', seq: turn });
    viewer.send(click);
    assert.deepEqual(await viewer.closed, { code: 4010, reason: 'bad_message' });
    assert.deepEqual(fixture.browser.inputs, []);
  });

  it('a viewer that has sent many commands may send more in the next second', async () => {
    const viewer = await join('control');
    for (let turn = 0; turn < 499; turn += 1) viewer.send({ type: 'ack', seq: turn });
    await commandsProcessed(viewer);
    fixture.clock.advance(1000);
    viewer.send(click);
    await eventually('it was done', () => fixture.browser.inputs.length === 1);
  });
});

describe('what a page asks', () => {
  const dialog = { type: 'confirm', message: 'Really?', defaultValue: '' } as const;
  const prompt = { id: 7, tabId: 'T1', question: { kind: 'dialog', dialog } } as const;
  const shown = (viewer: TestViewer): string[] => viewer.of('prompt').map(({ prompt: asked }) => asked?.kind ?? 'none');

  it('a dialog of a page is shown to every viewer of its tab until it is answered', async () => {
    const viewers = [await join('control'), await join('view')];
    await eventually('both are there', () => fixture.session.viewers === 2);
    fixture.browser.ask([{ ...prompt, tabId: 'T2' }]);
    fixture.browser.ask([prompt]);
    await Promise.all(viewers.map((viewer) => eventually('it is shown', () => shown(viewer).join() === 'dialog')));
    const expected = { prompt_id: 7, kind: 'dialog', dialog: 'confirm', message: 'Really?', default_value: '' };
    assert.deepEqual(viewers[1]?.of('prompt')[0]?.prompt, expected);
    fixture.browser.ask([]);
    await Promise.all(viewers.map((viewer) => eventually('it is closed', () => shown(viewer).join() === 'dialog,none')));
  });

  it('a dialog of a page is answered only with control', async () => {
    const [driver, watcher] = [await join('control'), await join('view')];
    for (const viewer of [watcher, driver]) viewer.send({ type: 'answer', prompt_id: 7, accept: true, text: 'yes' });
    await eventually('both are processed', () => fixture.browser.answers.length > 0 && watcher.of('failed').length > 0);
    assert.deepEqual(fixture.browser.answers, [[7, { accept: true, text: 'yes', option: undefined, paths: undefined }]]);
    assert.deepEqual(
      watcher.of('failed').map(({ code }) => code),
      ['not_allowed'],
    );
    watcher.send({ type: 'upload', upload: 1, name: 'a.txt', data: 'eA==', is_last: true });
    await eventually('the upload is refused', () => watcher.of('failed').length === 2);
  });

  it('dialogs are left to a person with control for a minute after the last command', async () => {
    const watcher = await join('view');
    await eventually('it is there', () => watcher.messages.length > 0);
    assert.equal(fixture.browser.attendants.size, 0);
    const driver = await join('control');
    await eventually('the person is there', () => fixture.browser.attendants.size === 1);
    const [person] = fixture.browser.attendants;
    fixture.clock.advance(59_999);
    assert.equal(person?.isPresent(), true);
    fixture.clock.advance(1);
    assert.equal(person.isPresent(), false);
    driver.send({ type: 'copy' });
    await eventually('the person is back', () => person.isPresent());
    driver.socket.close();
    await eventually('the person has left', () => fixture.browser.attendants.size === 0);
  });
});
