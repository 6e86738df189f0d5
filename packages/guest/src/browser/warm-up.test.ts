import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { warmUp } from '../agent/machine.ts';
import { CdpClient } from './cdp-client.ts';
import { AgentUnderTest } from '../../testing/agent.ts';

describe('a browser that is to be copied', () => {
  let agent: AgentUnderTest;
  beforeEach(() => {
    agent = new AgentUnderTest();
  });
  afterEach(() => agent.close());

  for (const kind of ['headless', 'full_browser'] as const)
    it(`a browser that is to be copied has had a page, and nothing is left of it (${kind})`, async () => {
      await agent.machine.start({ kind });
      const pipe = agent.machine.takePipe();
      try {
        await warmUp(pipe);
        const cdp = new CdpClient(pipe);
        assert.deepEqual(await cdp.call('Target.getTargets'), { targetInfos: [] });
        assert.deepEqual((await cdp.call('Target.getBrowserContexts'))['browserContextIds'], []);
        const { targetId } = await cdp.call('Target.createTarget', { url: 'about:blank' });
        assert.match(String(targetId), /^[0-9A-F]{32}$/);
      } finally {
        // The agent closes only when nobody holds its pipe.
        pipe.destroy();
      }
    });
});
