import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { RandomGenerators } from './generators.ts';
import { CdpClient } from '../browser/cdp-client.ts';
import { AgentUnderTest, until } from '../../testing/agent.ts';

describe('the random generators of a browser', () => {
  let agent: AgentUnderTest;
  beforeEach(() => {
    agent = new AgentUnderTest();
  });
  afterEach(() => agent.close());

  const processesOfBrowser = (): string[] => agent.browserProcesses().map(String);

  /** The first byte of each page that a process of the browser has for it: 1 once a generator has been filled. */
  const marks = (): Map<string, number> =>
    new Map(
      processesOfBrowser().flatMap((pid): [string, number][] => {
        try {
          const mappings = readFileSync(`/proc/${pid}/smaps`, 'latin1').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
          return mappings
            .filter((mapping) => /^VmFlags:.* wf\b/m.test(mapping))
            .map((mapping): [string, number] => [pid, firstByte(pid, Number.parseInt(mapping, 16))]);
        } catch {
          // It has gone, as those of a browser do at any time.
          return [];
        }
      }),
    );

  it('the random generators of a browser are filled again from the kernel when a machine has been copied, in every process', async () => {
    await agent.machine.start({ kind: 'headless' });
    const pipe = agent.machine.takePipe();
    const filled = (): string[] => [...marks()].filter(([, mark]) => mark === 1).map(([pid]) => pid);
    // The network's process among them, which comes a moment after the first answer.
    await until(() => filled().length > 3, 20_000);
    const before = filled();
    const generators = new RandomGenerators(processesOfBrowser);
    generators.renew();
    const after = marks();
    assert.ok(after.size > 3);
    assert.ok(before.some((pid) => after.get(pid) === 0));
    // The browser's own process draws for each token, and has seen by then that it is another.
    await new CdpClient(pipe).call('Target.createBrowserContext');
    const [browser = ''] = before;
    assert.equal(marks().get(browser), 1);
    pipe.destroy();
  });

  it('renewing random generators ignores a process that has ended meanwhile', () => {
    new RandomGenerators(() => ['999999999']).renew();
  });
});

function firstByte(pid: string, address: number): number {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    const byte = Buffer.alloc(1);
    readSync(memory, byte, 0, 1, address);
    return byte.readUInt8();
  } finally {
    closeSync(memory);
  }
}
