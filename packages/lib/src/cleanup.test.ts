import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Cleanup } from './cleanup.ts';

describe('a cleanup', () => {
  it('a cleanup undoes the last step first, and the rest also when one undo fails', async () => {
    const undone: string[] = [];
    const cleanup = new Cleanup();
    cleanup.push('first', () => void undone.push('first'));
    cleanup.push('second', () => Promise.reject(new Error('stuck')));
    cleanup.push('third', async () => void undone.push('third'));
    const failures = await cleanup.run();
    assert.deepEqual(undone, ['third', 'first']);
    assert.deepEqual(
      failures.map((failure) => failure.message),
      ['undo of second failed'],
    );
  });

  it('a cleanup undoes nothing after it was transferred, and the new owner undoes all of it', async () => {
    const undone: string[] = [];
    const cleanup = new Cleanup();
    cleanup.push('step', () => void undone.push('step'));
    const transferred = cleanup.transfer();
    await cleanup.run();
    assert.deepEqual(undone, []);
    await transferred.run();
    assert.deepEqual(undone, ['step']);
  });
});
