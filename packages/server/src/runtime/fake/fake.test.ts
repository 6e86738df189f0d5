import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeRuntime } from './fake.ts';
import type { FakeVm } from './fake.ts';
import { CdpTalk, bootSignal, describeRuntime, newOrder } from '../runtime-suite.ts';

describeRuntime('fake', async () => {
  const runtime = createFakeRuntime({ bootDelayMs: 10 });
  return {
    runtime,
    kill: (vm) => (vm as FakeVm).crash(),
    freeze: (vm) => (vm as FakeVm).freeze(),
    failing: async () => {
      runtime.failNextBoot(new Error('broken on purpose'));
      return runtime;
    },
    residue: (id) => (runtime.machines.has(id) ? ['machine'] : []),
    close: async () => {},
  };
});

describe('the fake browser', () => {
  const start = async (): Promise<{ vm: FakeVm; talk: CdpTalk; page: string }> => {
    const vm = (await createFakeRuntime().boot(newOrder(), { signal: bootSignal() })) as FakeVm;
    const talk = new CdpTalk(vm.cdp);
    return { vm, talk, page: await talk.openPage() };
  };

  it('answers a navigation with the status that the address names', async () => {
    const { vm, talk, page } = await start();
    await talk.call('Network.enable', {}, page);
    await talk.call('Page.navigate', { url: 'http://status-404.test/' }, page);
    const answer = talk.events.find(({ method }) => method === 'Network.responseReceived');
    assert.equal((answer?.params?.response as { status?: number } | undefined)?.status, 404);
    await vm.destroy();
  });

  it('fails a navigation with the error that the address names', async () => {
    const { vm, talk, page } = await start();
    const { errorText } = await talk.call('Page.navigate', { url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' }, page);
    assert.equal(errorText, 'net::ERR_NAME_NOT_RESOLVED');
    await vm.destroy();
  });

  it('ends a hanging navigation only when the page is stopped', async () => {
    const { vm, talk, page } = await start();
    const hanging = talk.call('Page.navigate', { url: 'http://hang.test/' }, page);
    await talk.call('Page.stopLoading', {}, page);
    assert.equal((await hanging).errorText, 'net::ERR_ABORTED');
    await vm.destroy();
  });

  it('tells the events of a load in the order of Chromium', async () => {
    const { vm, talk, page } = await start();
    await talk.call('Page.enable', {}, page);
    await talk.call('Page.setLifecycleEventsEnabled', { enabled: true }, page);
    talk.events.length = 0;
    await talk.call('Page.navigate', { url: 'http://example.test/' }, page);
    const told = talk.events.filter(({ sessionId }) => sessionId === page).map(({ method, params }) => params?.name ?? method);
    assert.deepEqual(told, [
      ...['Page.frameStartedLoading', 'init', 'Page.frameNavigated', 'commit', 'Page.domContentEventFired', 'DOMContentLoaded'],
      ...['Page.loadEventFired', 'load', 'Page.frameStoppedLoading', 'networkAlmostIdle', 'networkIdle'],
    ]);
    assert.deepEqual((await talk.call('Runtime.evaluate', { expression: 'document.title' }, page)).result, {
      type: 'string',
      value: 'example.test',
    });
    await vm.destroy();
  });

  it('tells one client of the pages of another, and stamps what it says with its session', async () => {
    const { vm, talk } = await start();
    const client = String((await talk.call('Target.attachToBrowserTarget')).sessionId);
    await talk.call('Target.setDiscoverTargets', { discover: true }, client);
    await talk.call('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }, client);
    talk.events.length = 0;
    const { targetId } = await talk.call('Target.createTarget', { url: 'about:blank' });
    await talk.call('Target.closeTarget', { targetId });
    const told = talk.events.filter(({ sessionId }) => sessionId === client).map(({ method }) => method);
    assert.deepEqual(told, [
      'Target.targetCreated',
      'Target.attachedToTarget',
      'Target.targetInfoChanged',
      'Target.detachedFromTarget',
      'Target.targetDestroyed',
    ]);
    await vm.destroy();
  });

  it('draws a page for whoever watches: at once, when it changes and when it moves on, two ahead of what is acknowledged', async () => {
    const { vm, talk, page } = await start();
    const pictures = (): unknown[] =>
      talk.events.filter(({ method }) => method === 'Page.screencastFrame').map(({ params }) => params?.data);
    await talk.call('Page.startScreencast', { format: 'jpeg', maxWidth: 640 }, page);
    assert.deepEqual(vm.browser.screencasts, [{ format: 'jpeg', maxWidth: 640 }]);
    await talk.call('Page.navigate', { url: 'http://example.test/' }, page);
    assert.equal(pictures().length, 2);
    for (const each of ['one', 'two']) vm.browser.draw(Buffer.from(each));
    await talk.call('Page.screencastFrameAck', { sessionId: 1 }, page);
    await talk.call('Page.screencastFrameAck', { sessionId: 2 }, page);
    assert.deepEqual(pictures().slice(2), [Buffer.from('two').toString('base64')]);
    await talk.call('Page.stopScreencast', {}, page);
    assert.deepEqual(vm.browser.screencasts, []);
    await vm.destroy();
  });

  it('keeps what mouse and keyboard do, and writes to consoles that are listened to', async () => {
    const { vm, talk, page } = await start();
    await talk.call('Input.insertText', { text: 'x' }, page);
    assert.deepEqual(vm.browser.inputs, [{ method: 'Input.insertText', params: { text: 'x' } }]);
    vm.browser.write('unheard');
    await talk.call('Console.enable', {}, page);
    vm.browser.write('heard', 'error');
    await talk.call('Page.enable', {}, page);
    const lines = talk.events.filter(({ method }) => method === 'Console.messageAdded').map(({ params }) => params?.message);
    assert.deepEqual(lines, [{ source: 'console-api', level: 'error', text: 'heard', url: 'about:blank', line: 1, column: 1 }]);
    await vm.destroy();
  });

  it('refuses what it does not know, and sessions that are not there', async () => {
    const { vm, talk } = await start();
    assert.equal((await talk.send('Nothing.here')).error?.code, -32601);
    assert.equal((await talk.send('Page.enable', {}, 'nobody')).error?.code, -32001);
    await vm.destroy();
  });

  it('ends its machine when a client closes the browser', async () => {
    const { vm, talk } = await start();
    await talk.call('Browser.close');
    assert.equal((await vm.exited).reason, 'exited');
    await vm.destroy();
  });
});
