import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { profileBytesMax } from '@berth/contract';
import type { OriginState, ReadBrowserState } from '@berth/devtools';
import { mergeContent, openContent, profileOriginsMax, ProfileTooLargeError, sealContent } from './content.ts';

const cookieOf = (value: string) => ({ name: 'a', value, domain: 'a.test', path: '/', expires: -1, httpOnly: true, secure: true });
const originOf = (name: string, value = 'v'): OriginState => ({
  origin: `https://${name}.test`,
  localStorage: value === '' ? [] : [{ name: 'k', value }],
  databases: [],
});
const readOf = (origins: OriginState[], cookies = [cookieOf('new')]): ReadBrowserState => ({
  cookies,
  origins,
  unread: [],
  omitted: { databases: 0, records: 0 },
});
const namesOf = (origins: OriginState[]): string[] => origins.map(({ origin }) => origin.slice(8, -5));

describe('the content of a profile', () => {
  it('the content of a profile has the browser’s cookies, the origins that it visited, and the others as they were', () => {
    const before = { cookies: [cookieOf('old')], origins: [originOf('one'), originOf('two', 'old'), originOf('three')] };
    const { state, dropped } = mergeContent(before, readOf([originOf('two', 'new'), originOf('three', '')]));
    assert.deepEqual(state, { cookies: [cookieOf('new')], origins: [originOf('two', 'new'), originOf('one')] });
    assert.equal(dropped, 0);
  });

  it('the content of a profile gives up the origins that were not visited for longest where there is no room', () => {
    const third = 'x'.repeat(profileBytesMax / 3);
    const before = { cookies: [], origins: [originOf('old', third), originOf('older', third), originOf('small')] };
    const { state, dropped, sizeBytes, json } = mergeContent(before, readOf([originOf('latest', third)]));
    assert.deepEqual([namesOf(state.origins), dropped], [['latest', 'old', 'small'], 1]);
    assert.ok(sizeBytes <= profileBytesMax && sizeBytes === Buffer.byteLength(json));

    const many = Array.from({ length: profileOriginsMax + 3 }, (_, index) => originOf(`n${index}`));
    const cut = mergeContent({ cookies: [], origins: many.slice(1) }, readOf(many.slice(0, 1)));
    assert.deepEqual([cut.state.origins.length, cut.dropped, namesOf(cut.state.origins)[0]], [profileOriginsMax, 3, 'n0']);
  });

  it('the content of a profile is refused where cookies alone are too large', () => {
    const cookies = Array.from({ length: 1100 }, () => cookieOf('x'.repeat(4000)));
    assert.throws(() => mergeContent(null, readOf([], cookies)), ProfileTooLargeError);
  });

  it('the content of a profile opens for its owner and profile alone, and shows nothing', async () => {
    const [secret, key] = [Buffer.alloc(32, 7), { owner: 'acme', profileId: 'pro_1' }];
    const { json, state } = mergeContent(null, readOf([originOf('one', 'token-of-ada')]));
    const sealed = await sealContent(secret, key, json);
    assert.deepEqual(await openContent(secret, key, sealed), state);
    assert.equal(sealed.includes('ada') || sealed.includes('one.test'), false);
    for (const other of [
      { ...key, owner: 'other' },
      { ...key, profileId: 'pro_2' },
    ])
      assert.equal(await openContent(secret, other, sealed), null);
    assert.equal(await openContent(Buffer.alloc(32, 8), key, sealed), null);
  });
});
