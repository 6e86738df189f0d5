import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeRuntime } from './fake.ts';
import type { FakeVm } from './fake.ts';
import { CdpTalk, bootSignal, describeRuntime, newOrder } from './runtime-suite.ts';

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
    assert.deepEqual((await talk.call('Runtime.evaluate', { expression: 'document.title' }, page)).result, { type: 'string', value: 'example.test' });
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
