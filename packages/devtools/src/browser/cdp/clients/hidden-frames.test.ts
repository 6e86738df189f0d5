/** What clients hear of a frame that is attached to before it has its address. The browser is the test. */
import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { beforeEach, describe, it } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import { nextTurn } from '@berth/lib/turns/turn-budget.ts';
import { TimeoutScale } from '../../timeout-scale.ts';
import { Connection } from '../connection.ts';
import { Multiplexer } from '../multiplexer.ts';
import { FrameSplitter } from '../pipe.ts';

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  sessionId?: string;
}

const [own, ofClient, ofPage, ofFrame] = ['1', '2', '3', '4'].map((digit) => digit.repeat(32));
const viewer = 'chrome-extension://viewer/index.html';
const frameInfo = (url: string): object => ({ targetId: 'F', type: 'iframe', url });

describe('a frame that navigates to one of the browser’s own', () => {
  let commands: Message[];
  let heard: Message[];
  let emit: (method: string, params: object, sessionId?: string) => void;

  beforeEach(async () => {
    const [ours, browser] = duplexPair();
    [commands, heard] = [[], []];
    const write = (message: object): unknown => browser.write(`${JSON.stringify(message)}\0`);
    emit = (method, params, sessionId) => void write({ method, params, sessionId });
    const splitter = new FrameSplitter();
    browser.on('data', (chunk: Buffer) =>
      splitter.push(chunk, (frame) => {
        const command = JSON.parse(frame.toString()) as Message;
        commands.push(command);
        if (command.method === 'Target.attachToBrowserTarget') write({ id: command.id, result: { sessionId: ofClient } });
      }),
    );
    const nothing = (): void => undefined;
    const multiplexer = new Multiplexer(new Connection(ours, { log: silentLog, timeoutScale: new TimeoutScale() }), {
      log: silentLog,
      ruleContext: () => ({}) as never,
      ...{
        onWatching: nothing,
        onDriving: nothing,
        onOpened: nothing,
        onWindowChanged: nothing,
        onActivity: nothing,
        onActivate: nothing,
        onClientClosed: nothing,
      },
    });
    const send = (message: string | Buffer): boolean => heard.push(JSON.parse(message.toString()) as Message) > 0;
    const client = await multiplexer.connect({ send, onClose: nothing });
    const page = { targetId: 'P', type: 'page', url: 'http://site.test/' };
    emit('Target.attachedToTarget', { sessionId: own, targetInfo: page, waitingForDebugger: false });
    emit('Target.attachedToTarget', { sessionId: ofPage, targetInfo: page, waitingForDebugger: false }, ofClient);
    await until(() => heard.length === 1);
    void client.receive(JSON.stringify({ id: 1, method: 'Page.enable', sessionId: ofPage }));
    emit('Page.frameStartedNavigating', { frameId: 'F', url: viewer }, own);
    emit('Target.attachedToTarget', { sessionId: ofFrame, targetInfo: frameInfo(''), waitingForDebugger: true }, ofPage);
    await until(() => commands.some(({ method, sessionId }) => method === 'Runtime.runIfWaitingForDebugger' && sessionId === ofFrame));
    assert.equal(heard.length, 1, 'of the page alone');
    heard = [];
  });

  it('a frame that navigates to a page of the browser is detached for clients', async () => {
    emit('Target.targetInfoChanged', { targetInfo: frameInfo(viewer) });
    await until(() => commands.some(({ method, sessionId }) => method === 'Target.detachFromTarget' && sessionId === ofPage));
    emit('Target.detachedFromTarget', { sessionId: ofFrame, targetId: 'F' }, ofPage);
    emit('Page.loadEventFired', {}, ofPage);
    await until(() => heard.some(({ method }) => method === 'Page.loadEventFired'));
    assert.deepEqual(heard[0], { method: 'Page.frameDetached', params: { frameId: 'F', reason: 'remove' }, sessionId: ofPage });
    assert.equal(heard.length, 2);
  });

  it('a frame that leaves a page of the browser for a site is attached for clients', async () => {
    emit('Target.targetInfoChanged', { targetInfo: frameInfo('http://other.test/') });
    emit('Page.loadEventFired', {}, ofFrame);
    await until(() => heard.length === 2);
    const params = { sessionId: ofFrame, targetInfo: frameInfo('http://other.test/'), waitingForDebugger: false };
    assert.deepEqual(heard[0], { method: 'Target.attachedToTarget', params, sessionId: ofPage });
    assert.equal(heard[1]?.sessionId, ofFrame);
  });
});

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await nextTurn();
}
