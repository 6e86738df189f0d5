import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toMachineLoss } from './machine.ts';

describe('the loss of a machine', () => {
  it('the loss of a machine is the browser’s exit with process isolation, and the machine’s with a microVM', () => {
    const exit = { reason: 'exited', detail: 'signal SIGKILL' } as const;
    assert.deepEqual(toMachineLoss(exit, 'process'), { reason: 'browser_exited', detail: 'signal SIGKILL' });
    assert.deepEqual(toMachineLoss(exit, 'microvm'), { reason: 'vm_exited', detail: 'signal SIGKILL' });
  });

  it('the loss of a machine is out of memory wherever there is evidence of it', () => {
    for (const isolation of ['process', 'microvm'] as const)
      assert.equal(toMachineLoss({ reason: 'out_of_memory', detail: '' }, isolation).reason, 'out_of_memory');
  });
});
