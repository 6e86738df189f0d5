import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isFileUrl } from './media-type.ts';
import { pageIdentity, withoutFragment } from './page-identity.ts';

const of = (path: string): string => pageIdentity(URL.parse(path, 'http://shop.test/list/')?.href ?? assert.fail(path));

it('URLs of one page have one identity', () => {
  for (const [one, ...others] of [
    ['a', './a', 'a#part', 'a?', '/list/./a', '../list/a', 'HTTP://SHOP.test:80/list/a', '//shop.test/list/a', '%61'],
    ['c?x=1&y=2', 'c?y=2&x=1', 'c?x=1&y=2&utm_source=mail', 'c?gclid=Z&x=1&&y=2#top', 'c?UTM_Term=a&x=1&y=2'],
    ['caf%C3%A9', 'café', 'caf%c3%a9'],
    ['~ada/x-1', '%7Eada/x%2D1'],
  ] as const)
    for (const other of others) assert.equal(of(other), of(one as string), other);
});

it('URLs that may be different pages have different identities', () => {
  const paths = [
    'a',
    'A',
    'a/',
    'a?x=1',
    'a?x=2',
    'a?X=1',
    'a?x=1&x=2',
    'a?x=2&x=1',
    'a%2Fb',
    'a/b',
    'a?x=%26',
    'http://shop.test:8080/list/a',
    'https://shop.test/list/a',
  ];
  assert.equal(new Set(paths.map(of)).size, paths.length);
});

it('a fragment and an empty query are left out of what is requested, and nothing else', () => {
  assert.equal(withoutFragment('http://shop.test/a?#b'), 'http://shop.test/a');
  assert.equal(withoutFragment('http://shop.test/a?y=1&x=%c3&utm_source=z#b'), 'http://shop.test/a?y=1&x=%c3&utm_source=z');
});

it('URLs of files are distinguished from URLs of pages by their names', () => {
  const isFile = (path: string): boolean => isFileUrl(new URL(path, 'http://shop.test'));
  for (const path of ['/a.pdf', '/A.PDF?download=1', '/x.tar.gz', '/b.zip', '/c.docx', '/d.mp4', '/e.jpeg', '/f.csv', '/g.svg', '/h.7z'])
    assert.ok(isFile(path), path);
  for (const path of [
    '/',
    '/a',
    '/a.html',
    '/a.php',
    '/v1.2',
    '/notes.txt',
    '/feed.xml',
    '/x.pdf/',
    '/what?file=a.pdf',
    '/constructor.toString',
  ])
    assert.ok(!isFile(path), path);
});
