import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedRecord, boundedString } from '@berth/contract';
import { z } from 'zod';
import { secretInput } from './inputs.ts';
import { collectSecrets, redactSecrets, redactSecretWords, ResultTooLargeError } from './secrets.ts';

test('the secrets of a flow are the inputs that are marked as secret, and the entries of a record of them', () => {
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

test('secrets are replaced in every text and name of a result, also escaped, and bytes are left alone', async () => {
  const secrets = { a: 'q&r <s>', b: 'q&r <s> and more', short: 'xy' };
  const value = {
    text: ['q&r <s> and more', 'x q&r <s> y', 'xy'],
    'q&r <s>': 1,
    url: `http://x/?t=${encodeURIComponent('q&r <s>')}&u=q&r%20%3Cs%3E&v=q%26r+%3Cs%3E`,
    html: '<p>q&amp;r &lt;s&gt;</p>',
    file: { data_base64: 'q&r <s>' },
    none: null,
    hostile: { toJSON: 'q&r <s>' },
  };
  assert.deepEqual(await redactSecrets(value, secrets), {
    text: ['{{secret.b}}', 'x {{secret.a}} y', 'xy'],
    '{{secret.a}}': 1,
    url: 'http://x/?t={{secret.a}}&u={{secret.a}}&v={{secret.a}}',
    html: '<p>{{secret.a}}</p>',
    file: { data_base64: 'q&r <s>' },
    none: null,
    hostile: { toJSON: '{{secret.a}}' },
  });
});

test('a secret with `$&` is taken literally', async () => {
  assert.equal(await redactSecrets('x $& y', { a: 'x $&', b: 'none' }), '{{secret.a}} y');
});

test('secrets are never looked for in the names that replace them', async () => {
  const [b, c] = ['b'.repeat(64), 'c'.repeat(64)];
  assert.equal(await redactSecrets('aaa bbb', { [b]: 'aaa', [c]: 'bbb' }), `{{secret.${b}}} {{secret.${c}}}`);
  assert.equal(await redactSecrets('xx secret', { word: 'secret', s: 'word' }), 'xx {{secret.word}}');
});

test('secrets that overlap are replaced as one, so that no part of either remains', async () => {
  assert.equal(
    await redactSecrets('x abcdef y abcabc', { one: 'abcd', other: 'cdef', third: 'abc' }),
    'x {{secret.one}} y {{secret.third}}{{secret.third}}',
  );
  assert.equal(await redactSecrets('a'.repeat(300_000), { ['b'.repeat(64)]: 'aaa' }), `{{secret.${'b'.repeat(64)}}}`);
});

test('words of a secret are replaced, beside the secret itself', async () => {
  const secrets = { pin: 'open sesame now' };
  assert.deepEqual(await redactSecretWords({ text: 'Sesame, sesame? open sesame now!' }, secrets), { text: 'Sesame, •? {{secret.pin}}!' });
});

test('a result that replaced secrets make too large, one that is too large, and one that is nested without end are refused', async () => {
  await assert.rejects(redactSecrets('aaab'.repeat(300_000), { ['b'.repeat(200)]: 'aaa' }), ResultTooLargeError);
  await assert.rejects(redactSecrets(Array<string>(25).fill('x'.repeat(2_000_000)), {}), ResultTooLargeError);
  let deep: unknown = 'x';
  for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
  await assert.rejects(redactSecrets(deep, {}), ResultTooLargeError);
});
