import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownSecrets } from './known-secrets.ts';

const secrets = { password: 'Quay&Street "7"' };

test('a known secret is masked in every text of a value, in each form that a page may show', () => {
  const known = new KnownSecrets();
  known.add(secrets);
  const { password } = secrets;
  const value = {
    message: `hello ${password}!`,
    url: `https://shop.test/?q=${encodeURIComponent(password)}`,
    html: 'Quay&amp;Street &quot;7&quot;',
    lines: [JSON.stringify({ password }), Buffer.from(password).toString('base64')],
    [password]: { deep: password },
    count: 7,
    at: new Date(0),
    none: null,
  };
  const masked = known.mask(value);
  assert.doesNotMatch(JSON.stringify(masked), /Quay/);
  assert.equal(masked.message, 'hello {{secret.password}}!');
  assert.deepEqual([masked.count, masked.at, masked.none], [7, new Date(0), null]);
});

test('a secret of which only some characters are escaped is masked, and other escapes are left as they are', () => {
  const known = new KnownSecrets();
  known.add({ password: 'hunter2-Quay/7' });
  for (const url of ['?q=%68unter2-Quay/7', '?q=hunter2%2dQuay/7', '?q=hunter2-%51ua%79%2F7&a=%20b', '?q=%68%75%6E%74er2-Quay%2f7'])
    assert.match(known.mask(`https://shop.test/${url}`), /^https:\/\/shop\.test\/\?q=\{\{secret\.password\}\}/);
  assert.equal(known.mask('https://shop.test/?q=%68unter3'), 'https://shop.test/?q=%68unter3');
});

test('nothing is masked before a secret is known, and no id or short text is', () => {
  const known = new KnownSecrets();
  const value = { message: 'abc1 x', tab_id: 'tab_abc1', id: 'abc1' };
  assert.equal(known.mask(value), value);
  known.add({ pin: 'abc' });
  assert.equal(known.mask(value), value);
  known.add({ pin: 'abc1' });
  assert.deepEqual(known.mask(value), { message: '{{secret.pin}} x', tab_id: 'tab_abc1', id: 'abc1' });
});

test('the newest secrets are kept where they are too many to keep all', () => {
  const known = new KnownSecrets();
  for (let i = 0; i < 60; i += 1) known.add({ [`s${i}`]: `secret-${i}-${'x'.repeat(1000)}` });
  assert.equal(known.mask(`secret-59-${'x'.repeat(1000)}`), '{{secret.s59}}');
  const first = `secret-0-${'x'.repeat(1000)}`;
  assert.equal(known.mask(first), first);
  known.add({ huge: 'y'.repeat(200_000) });
  assert.equal(known.mask('y'.repeat(200_000)), '{{secret.huge}}');
});
