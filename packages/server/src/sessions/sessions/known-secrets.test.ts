import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { KnownSecrets } from './known-secrets.ts';

const secrets = { password: 'Quay&Street "7"' };

test('a known secret is masked in every text of a value, in each form that a page may show', async () => {
  const known = new KnownSecrets();
  await known.add(secrets);
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

test('a secret of which only some characters are escaped is masked, and other escapes are left as they are', async () => {
  const known = new KnownSecrets();
  await known.add({ password: 'hunter2-Quay/7' });
  for (const url of ['?q=%68unter2-Quay/7', '?q=hunter2%2dQuay/7', '?q=hunter2-%51ua%79%2F7&a=%20b', '?q=%68%75%6E%74er2-Quay%2f7'])
    assert.match(known.mask(`https://shop.test/${url}`), /^https:\/\/shop\.test\/\?q=\{\{secret\.password\}\}/);
  assert.equal(known.mask('https://shop.test/?q=%68unter3'), 'https://shop.test/?q=%68unter3');
});

test('nothing is masked before a secret is known, and no id or short text is', async () => {
  const known = new KnownSecrets();
  const value = { message: 'abc1 x', tab_id: 'tab_abc1', id: 'abc1' };
  assert.equal(known.mask(value), value);
  await known.add({ pin: 'abc' });
  assert.equal(known.mask(value), value);
  await known.add({ pin: 'abc1' });
  assert.deepEqual(known.mask(value), { message: '{{secret.pin}} x', tab_id: 'tab_abc1', id: 'abc1' });
});

/** Values of 20 characters that have nothing in common. */
const valuesOf = (count: number, from = 0): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => {
      const digest = createHash('sha256')
        .update(`value ${from + i}`)
        .digest('base64url');
      return [`s${from + i}`, digest.slice(0, 20)];
    }),
  );

const showingAll = (values: Readonly<Record<string, string>>): string => Object.values(values).join(' | ');
const maskingAll = (values: Readonly<Record<string, string>>): string =>
  Object.keys(values)
    .map((name) => `{{secret.${name}}}`)
    .join(' | ');

test('each of 3,000 secrets is masked in each form, whichever came first', async () => {
  const known = new KnownSecrets();
  const values = valuesOf(3000);
  for (let from = 0; from < 3000; from += 500) await known.add(valuesOf(500, from));
  assert.equal(known.searchesAll, true);
  assert.equal(known.mask(showingAll(values)), maskingAll(values));
  for (const text of Object.values(values)) assert.match(known.mask(btoa(text)), /^\{\{secret\.\w+\}\}=*$/);
});

test('where not all forms have room, each of 8,000 secrets is masked as it is, and the session says that it does not search for all', async () => {
  const known = new KnownSecrets();
  await known.add(valuesOf(8000));
  assert.equal(known.searchesAll, false);
  assert.equal(known.mask(showingAll(valuesOf(8000))), maskingAll(valuesOf(8000)));
});

test('where not all secrets have room, the newest are masked, and no more are kept than are searched for', async () => {
  const known = new KnownSecrets();
  const pin = (i: number): string => `${1e6 + i}`;
  const count = 25_000;
  await known.add(Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, pin(i)])));
  assert.equal(known.searchesAll, false);
  assert.equal(known.mask(pin(count - 1)), `{{secret.p${count - 1}}}`);
  assert.equal(known.mask(pin(0)), pin(0));
  await known.add({ last: 'hunter2-Quay' });
  assert.deepEqual([known.mask('hunter2-Quay'), known.searchesAll], ['{{secret.last}}', false]);
});

test('secrets of thousands of characters are masked beside others', async () => {
  const known = new KnownSecrets();
  const long = (i: number): string => `-----${i}-----${'MIIEvQIBADANBgkqhkiG9w0'.repeat(40)}${i}`;
  await known.add({ first: 'hunter2-Quay' });
  await known.add(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, long(i)])));
  assert.deepEqual([known.mask(`${long(0)} hunter2-Quay`), known.searchesAll], ['{{secret.k0}} {{secret.first}}', true]);
});

test('secrets that are added at the same time are all masked', async () => {
  const known = new KnownSecrets();
  await Promise.all(Array.from({ length: 20 }, (_, i) => known.add(valuesOf(50, i * 50))));
  assert.equal(known.mask(showingAll(valuesOf(1000))), maskingAll(valuesOf(1000)));
});
