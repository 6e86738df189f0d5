import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedRecord, boundedString } from '@berth/contract';
import { z } from 'zod';
import { secretInput } from './inputs.ts';
import { collectSecrets, redactSecrets } from './secrets.ts';

test('collects the inputs that are marked as secret, and the entries of a record of them', () => {
  const schema = z
    .strictObject({
      username: z.string(),
      password: secretInput('A password.'),
      pins: boundedRecord(boundedString(1, 10), secretInput('A pin.'), 5).meta({ writeOnly: true }),
    })
    .check(() => undefined);
  const inputs = { username: 'ada', password: 'p4ss', pins: { card: '1234', door: '5678' }, constructor: 'x' };
  assert.deepEqual(collectSecrets(schema, inputs), { password: 'p4ss', card: '1234', door: '5678' });
});

test('replaces secrets in every text and name, also escaped, and leaves bytes alone', () => {
  const secrets = { a: 'q&r <s>', b: 'q&r <s> and more', short: 'xy' };
  const value = {
    text: ['q&r <s> and more', 'x q&r <s> y', 'xy'],
    'q&r <s>': 1,
    url: `http://x/?t=${encodeURIComponent('q&r <s>')}&u=q&r%20%3Cs%3E&v=q%26r+%3Cs%3E`,
    html: '<p>q&amp;r &lt;s&gt;</p>',
    file: { data_base64: 'q&r <s>' },
    none: null,
  };
  assert.deepEqual(redactSecrets(value, secrets), {
    text: ['{{secret.b}}', 'x {{secret.a}} y', 'xy'],
    '{{secret.a}}': 1,
    url: 'http://x/?t={{secret.a}}&u={{secret.a}}&v={{secret.a}}',
    html: '<p>{{secret.a}}</p>',
    file: { data_base64: 'q&r <s>' },
    none: null,
  });
});

test('takes a secret with `$&` literally', () => {
  assert.equal(redactSecrets('x $& y', { a: 'x $&', b: 'none' }), '{{secret.a}} y');
});
