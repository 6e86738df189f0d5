import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lossOf } from './machine.ts';

describe('the loss of a machine', () => {
  it('is the browser’s where the machine is its jail, and the machine’s own where it is a virtual one', () => {
    const exit = { reason: 'exited', detail: 'signal SIGKILL' } as const;
    assert.deepEqual(lossOf(exit, 'process'), { how: 'browser_gone', detail: 'signal SIGKILL' });
    assert.deepEqual(lossOf(exit, 'microvm'), { how: 'vm_gone', detail: 'signal SIGKILL' });
  });

  it('is told as want of memory wherever there is evidence of it', () => {
    for (const isolation of ['process', 'microvm'] as const)
      assert.equal(lossOf({ reason: 'out_of_memory', detail: '' }, isolation).how, 'out_of_memory');
  });
});
