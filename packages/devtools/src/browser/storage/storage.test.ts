import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { StorageState, StoredCookie } from '@berth/contract';
import { CookieRefusedError } from '../browser.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { call } from '../../../testing/on-page.ts';

type Cookie = StorageState['cookies'][number];

const server = createServer((_, response) =>
  response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': ['plain=yes', 'tab=a\tb', 'odd=é"=,'] }).end('<p>Here.</p>'),
);
let url = '';
let one: Launched;
let other: Launched;
before(async () => {
  [one, other] = await Promise.all([launch(), launch(), once(server.listen(0, '127.0.0.1'), 'listening')]);
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  await Promise.all([one.end(), other.end()]);
  server.closeAllConnections();
  server.close();
});

/** Each call has its own time: one signal for all would be the time of the whole file, from when it is loaded. */
const options = (): { signal: AbortSignal } => ({ signal: call().signal });
const cookieWith = (change: Partial<Cookie>): Cookie => ({
  name: 'a',
  value: 'b',
  domain: 'site.test',
  path: '/',
  expires: -1,
  httpOnly: false,
  secure: false,
  ...change,
});

describe('the storage state', () => {
  it('the storage state goes into another browser as it was, with NUL and half characters in local storage', async () => {
    const items = { 'a\ud800': '\udc00b\0', '\0': 'é\u{1f600}', plain: '"\\' };
    await one.browser.navigate(one.browser.activeTab().tabId, { url, waitUntil: 'load', timeoutMs: 20_000 }, options());
    const page = one.browser.page(one.browser.activeTab().tabId);
    const script = '(json) => { for (const [name, value] of Object.entries(JSON.parse(json))) localStorage.setItem(name, value); }';
    await page.call(page.mainFrame(), script, [JSON.stringify(items)], call());
    const partition = { partitionKey: 'https://top.test', secure: true };
    await one.browser.setStorageState(
      {
        cookies: [cookieWith(partition), cookieWith({ ...partition, _crHasCrossSiteAncestor: true, value: 'framed' })],
        origins: [],
      },
      options(),
    );
    await one.browser.navigate(one.browser.activeTab().tabId, { url, waitUntil: 'load', timeoutMs: 20_000 }, options());

    const exported = await one.browser.storageState(options());
    const { localStorage = [] } = exported.origins[0] ?? {};
    assert.deepEqual(Object.fromEntries(localStorage.map(({ name, value }) => [name, value])), items);
    assert.deepEqual(exported.cookies.map(({ name }) => name).toSorted(), ['a', 'a', 'odd', 'plain']);

    await other.browser.setStorageState(StorageState.parse(JSON.parse(JSON.stringify(exported))), options());
    await other.browser.navigate(other.browser.activeTab().tabId, { url, waitUntil: 'load', timeoutMs: 20_000 }, options());
    const sorted = ({ cookies, origins }: StorageState): object => ({
      cookies: cookies.map((cookie) => JSON.stringify(cookie)).toSorted(),
      origins,
    });
    assert.deepEqual(sorted(await other.browser.storageState(options())), sorted(exported));
  });

  it('setting a storage state reports the first cookie that the browser refuses', async () => {
    const cookies = Array.from({ length: 50 }, (_, index) => cookieWith({ name: `c${index}` }));
    for (const index of [0, 17, 49])
      await assert.rejects(
        other.browser.setStorageState({ cookies: cookies.with(index, cookieWith({ domain: '..site.test' })), origins: [] }, options()),
        (error) => error instanceof CookieRefusedError && error.index === index,
      );
  });
});

const long = (length: number): string => 'x'.repeat(length);
const refused: [what: string, change: Partial<Cookie>][] = [
  ...['a\0b', 'a\tb', 'a\nb', 'a\x7fb', 'a;b', ' a', 'a '].flatMap((text): [string, Partial<Cookie>][] => [
    [`the value ${JSON.stringify(text)}`, { value: text }],
    [`the name ${JSON.stringify(text)}`, { name: text }],
  ]),
  ['the path of a half', { path: 'a' }],
  ['a path with a line break', { path: '/a\nb' }],
  ['a path with a semicolon', { path: '/a;b' }],
  ['a path that ends with a space', { path: '/a ' }],
  ['a path that is too long', { path: `/${long(1024)}` }],
  ['a name with an equals sign', { name: 'a=b' }],
  ['neither name nor value', { name: '', value: '' }],
  ['a value like a pair without a name', { name: '', value: 'a=b' }],
  ['a value like a prefix without a name', { name: '', value: '__Host-a' }],
  ['name and value that are too long', { value: 'é'.repeat(2048) }],
  ['__Host- without secure', { name: '__Host-a' }],
  ['__host- in lower case without secure', { name: '__host-a' }],
  ['__Host- for subdomains', { name: '__Host-a', secure: true, domain: '.site.test' }],
  ['__Host- with a path', { name: '__Host-a', secure: true, path: '/a' }],
  ['__Secure- without secure', { name: '__Secure-a' }],
  ['__Http- for scripts', { name: '__Http-a', secure: true }],
  ['__Host-Http- for scripts', { name: '__Host-Http-a', secure: true }],
  ['a partition without secure', { partitionKey: 'https://top.test' }],
  ['a partition that is no site', { partitionKey: 'nonsense', secure: true }],
];
const accepted: [what: string, change: Partial<Cookie>][] = [
  ['no name', { name: '' }],
  ['no value', { value: '' }],
  ['4096 bytes', { value: 'é'.repeat(2047) }],
  ['a path of 1024 characters', { path: `/${long(1023)}` }],
  ['quotes, commas and an equals sign', { value: '"a b",=c' }],
  ['a name with a space', { name: 'a b' }],
  ['__Host-', { name: '__Host-a', secure: true }],
  ['__Secure-', { name: '__Secure-a', secure: true, domain: '.site.test' }],
  ['__Host-Http-', { name: '__Host-Http-a', secure: true, httpOnly: true }],
  ['a partition', { partitionKey: 'https://top.test', secure: true }],
  ['SameSite=None', { sameSite: 'None' }],
];

describe('the contract and Chromium', () => {
  for (const [what, change] of refused)
    it(`the contract and Chromium refuse a cookie with ${what}`, async () => {
      const cookie = cookieWith(change);
      assert.equal(StoredCookie.safeParse(cookie).success, false);
      await assert.rejects(other.browser.setStorageState({ cookies: [cookie], origins: [] }, options()), CookieRefusedError);
    });

  for (const [what, change] of accepted)
    it(`the contract and Chromium accept a cookie with ${what}`, async () => {
      await other.browser.setStorageState({ cookies: [StoredCookie.parse(cookieWith(change))], origins: [] }, options());
    });
});
