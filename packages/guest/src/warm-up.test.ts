import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { warmUp } from './machine.ts';
import { CdpClient } from './cdp-client.ts';
import { AgentUnderTest } from './testing/agent.ts';

describe('a browser that is to be copied', () => {
  let agent: AgentUnderTest;
  beforeEach(() => {
    agent = new AgentUnderTest();
  });
  afterEach(() => agent.close());

  for (const kind of ['headless', 'full_browser'] as const)
    it(`has had a page, and nothing is left of it (${kind})`, async () => {
      await agent.machine.start({ kind });
      const pipe = agent.machine.takePipe();
      await warmUp(pipe);
      pipe.write('{"id":77,"method":"Target.getTargets"}\0');
      await once(pipe, 'readable');
      const next = pipe.read() as Buffer;
      assert.deepEqual(JSON.parse(next.toString('utf8', 0, next.indexOf(0))), { id: 77, result: { targetInfos: [] } });
      const cdp = new CdpClient(pipe);
      assert.deepEqual((await cdp.call('Target.getBrowserContexts'))['browserContextIds'], []);
      const { targetId } = await cdp.call('Target.createTarget', { url: 'about:blank' });
      assert.match(String(targetId), /^[0-9A-F]{32}$/);
      pipe.destroy();
    });
});
