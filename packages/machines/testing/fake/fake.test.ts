import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeRuntime, type FakeVm } from './fake.ts';
import { CdpClient, bootSignal, describeRuntime, newVmSpec } from '../runtime-suite.ts';

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
  const start = async (): Promise<{ vm: FakeVm; cdp: CdpClient; page: string }> => {
    const vm = (await createFakeRuntime().boot(newVmSpec(), { signal: bootSignal() })) as FakeVm;
    const cdp = new CdpClient(vm.cdp);
    return { vm, cdp, page: await cdp.openPage() };
  };

  it('the fake browser answers a navigation with the status that the address names', async () => {
    const { vm, cdp, page } = await start();
    await cdp.call('Network.enable', {}, page);
    await cdp.call('Page.navigate', { url: 'http://status-404.test/' }, page);
    const answer = cdp.events.find(({ method }) => method === 'Network.responseReceived');
    assert.equal((answer?.params?.response as { status?: number } | undefined)?.status, 404);
    await vm.destroy();
  });

  it('the fake browser fails a navigation with the error that the address names', async () => {
    const { vm, cdp, page } = await start();
    const { errorText } = await cdp.call('Page.navigate', { url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' }, page);
    assert.equal(errorText, 'net::ERR_NAME_NOT_RESOLVED');
    await vm.destroy();
  });

  it('the fake browser ends a hanging navigation only when the page is stopped', async () => {
    const { vm, cdp, page } = await start();
    const hanging = cdp.call('Page.navigate', { url: 'http://hang.test/' }, page);
    await cdp.call('Page.stopLoading', {}, page);
    assert.equal((await hanging).errorText, 'net::ERR_ABORTED');
    await vm.destroy();
  });

  it('the fake browser emits the events of a load in the order of Chromium', async () => {
    const { vm, cdp, page } = await start();
    await cdp.call('Page.enable', {}, page);
    await cdp.call('Page.setLifecycleEventsEnabled', { enabled: true }, page);
    cdp.events.length = 0;
    await cdp.call('Page.navigate', { url: 'http://example.test/' }, page);
    const lines = cdp.events.filter(({ sessionId }) => sessionId === page).map(({ method, params }) => params?.name ?? method);
    assert.deepEqual(lines, [
      ...['Page.frameStartedLoading', 'init', 'Page.frameNavigated', 'commit', 'Page.domContentEventFired', 'DOMContentLoaded'],
      ...['Page.loadEventFired', 'load', 'Page.frameStoppedLoading', 'networkAlmostIdle', 'networkIdle'],
    ]);
    assert.deepEqual((await cdp.call('Runtime.evaluate', { expression: 'document.title' }, page)).result, {
      type: 'string',
      value: 'example.test',
    });
    await vm.destroy();
  });

  it('the fake browser sends one client events of pages of another, with its session id', async () => {
    const { vm, cdp } = await start();
    const client = String((await cdp.call('Target.attachToBrowserTarget')).sessionId);
    await cdp.call('Target.setDiscoverTargets', { discover: true }, client);
    await cdp.call('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }, client);
    cdp.events.length = 0;
    const { targetId } = await cdp.call('Target.createTarget', { url: 'about:blank' });
    await cdp.call('Target.closeTarget', { targetId });
    const lines = cdp.events.filter(({ sessionId }) => sessionId === client).map(({ method }) => method);
    assert.deepEqual(lines, [
      'Target.targetCreated',
      'Target.attachedToTarget',
      'Target.targetInfoChanged',
      'Target.detachedFromTarget',
      'Target.targetDestroyed',
    ]);
    await vm.destroy();
  });

  it('the fake browser sends screencast frames at once, on changes and on navigation, at most two unacknowledged', async () => {
    const { vm, cdp, page } = await start();
    const pictures = (): unknown[] =>
      cdp.events.filter(({ method }) => method === 'Page.screencastFrame').map(({ params }) => params?.data);
    await cdp.call('Page.startScreencast', { format: 'jpeg', maxWidth: 640 }, page);
    assert.deepEqual(vm.browser.screencasts, [{ format: 'jpeg', maxWidth: 640 }]);
    await cdp.call('Page.navigate', { url: 'http://example.test/' }, page);
    assert.equal(pictures().length, 2);
    for (const each of ['one', 'two']) vm.browser.draw(Buffer.from(each));
    await cdp.call('Page.screencastFrameAck', { sessionId: 1 }, page);
    await cdp.call('Page.screencastFrameAck', { sessionId: 2 }, page);
    assert.deepEqual(pictures().slice(2), [Buffer.from('two').toString('base64')]);
    await cdp.call('Page.stopScreencast', {}, page);
    assert.deepEqual(vm.browser.screencasts, []);
    await vm.destroy();
  });

  it('the fake browser records mouse and keyboard, and writes to consoles that are enabled', async () => {
    const { vm, cdp, page } = await start();
    await cdp.call('Input.insertText', { text: 'x' }, page);
    assert.deepEqual(vm.browser.inputs, [{ method: 'Input.insertText', params: { text: 'x' } }]);
    vm.browser.write('unheard');
    await cdp.call('Console.enable', {}, page);
    vm.browser.write('heard', 'error');
    await cdp.call('Page.enable', {}, page);
    const lines = cdp.events.filter(({ method }) => method === 'Console.messageAdded').map(({ params }) => params?.message);
    assert.deepEqual(lines, [{ source: 'console-api', level: 'error', text: 'heard', url: 'about:blank', line: 1, column: 1 }]);
    await vm.destroy();
  });

  it('the fake browser refuses unknown methods and unknown sessions', async () => {
    const { vm, cdp } = await start();
    assert.equal((await cdp.send('Nothing.here')).error?.code, -32601);
    assert.equal((await cdp.send('Page.enable', {}, 'nobody')).error?.code, -32001);
    await vm.destroy();
  });

  it('the fake browser ends its machine when a client closes the browser', async () => {
    const { vm, cdp } = await start();
    await cdp.call('Browser.close');
    assert.equal((await vm.exited).reason, 'exited');
    await vm.destroy();
  });
});
