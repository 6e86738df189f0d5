import assert from 'node:assert/strict';
import { beforeEach, describe, it, mock } from 'node:test';
import { Resumption } from './resumption.ts';

const one = { name: 'one' };
const two = { name: 'two' };

describe('the resumption of new targets', () => {
  let sent: string[];
  let resumption: Resumption<object>;
  const send = (name: string) => (): void => void sent.push(name);
  beforeEach(() => {
    sent = [];
    resumption = new Resumption();
  });

  it('is immediate when no client waits', () => {
    resumption.hold('T', [], send('own'));
    resumption.resume('T', one, send('one'));
    assert.deepEqual(sent, ['own', 'one']);
  });

  it('comes after the last client that waits', () => {
    resumption.hold('T', [one, two], send('own'));
    resumption.resume('T', one, send('one'));
    assert.deepEqual(sent, []);
    resumption.resume('T', two, send('two'));
    assert.deepEqual(sent, ['own', 'one', 'two']);
  });

  it('does not wait for a client that has left', () => {
    resumption.hold('T', [one, two], send('T'));
    resumption.hold('U', [one], send('U'));
    resumption.leave(one);
    assert.deepEqual(sent, ['U']);
    resumption.leave(two, 'T');
    assert.deepEqual(sent, ['U', 'T']);
  });

  it('comes after ten seconds, and does not wait for that client again until it resumes something', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      resumption.hold('T', [one], send('T'));
      mock.timers.tick(9999);
      assert.deepEqual(sent, []);
      mock.timers.tick(1);
      resumption.hold('U', [one], send('U'));
      assert.deepEqual(sent, ['T', 'U']);
      resumption.resume('U', one, send('late'));
      resumption.hold('V', [one], send('V'));
      assert.deepEqual(sent, ['T', 'U', 'late']);
    } finally {
      mock.timers.reset();
      resumption.end();
    }
  });
});
