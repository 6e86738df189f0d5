import assert from 'node:assert/strict';
import { beforeEach, describe, it, mock } from 'node:test';
import { Resumption, type Resume } from './resumption.ts';

const one = { name: 'one' };
const two = { name: 'two' };

describe('the resumption of new targets', () => {
  let sent: string[];
  let resumption: Resumption<object>;
  const own = (name: string) => (): void => void sent.push(name);
  const command = (name: string): Resume => ({ send: own(name), answer: own(`${name} answered`) });
  const hold = (targetId: string, clients: readonly object[], isPopup = false): void =>
    resumption.hold({ targetId, isPopup }, clients, own(targetId));
  beforeEach(() => {
    sent = [];
    resumption = new Resumption();
  });

  it('a new target is resumed at once when no client waits for it', () => {
    hold('T', []);
    resumption.resume('T', one, command('one'));
    assert.deepEqual(sent, ['T', 'one']);
  });

  it('a new target is resumed after the last client that waits for it', () => {
    hold('T', [one, two]);
    resumption.resume('T', one, command('one'));
    assert.deepEqual(sent, []);
    resumption.resume('T', two, command('two'));
    assert.deepEqual(sent, ['T', 'one', 'two']);
  });

  it('the resumption of a popup is sent once, and answered to its other clients', () => {
    hold('T', [one, two], true);
    resumption.resume('T', one, command('one'));
    resumption.resume('T', two, command('two'));
    assert.deepEqual(sent, ['T', 'one answered', 'two answered']);
    resumption.resume('T', two, command('again'));
    resumption.resume('U', two, command('unknown'));
    assert.deepEqual(sent.slice(3), ['again answered', 'unknown']);
  });

  it('a new target does not wait for a client that has left', () => {
    hold('T', [one, two]);
    hold('U', [one]);
    resumption.leave(one);
    assert.deepEqual(sent, ['U']);
    resumption.leave(two, 'T');
    assert.deepEqual(sent, ['U', 'T']);
  });

  it('a new target is resumed after ten seconds, and does not wait for that client again until it resumes something', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      hold('T', [one]);
      mock.timers.tick(9999);
      assert.deepEqual(sent, []);
      mock.timers.tick(1);
      hold('U', [one]);
      assert.deepEqual(sent, ['T', 'U']);
      resumption.resume('U', one, command('late'));
      hold('V', [one]);
      assert.deepEqual(sent, ['T', 'U', 'late']);
    } finally {
      mock.timers.reset();
      resumption.end();
    }
  });
});
