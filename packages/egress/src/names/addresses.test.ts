import assert from 'node:assert/strict';
import { test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { domainMatcher, isPublicAddress, isWebPort, parseAuthority, parseHost } from './addresses.ts';
import { AllowListError, parseAllowList } from './allow-list.ts';

/** Each range as its first and last address, and whether what lies just before and after is public. */
const deniedRanges: [first: string, last: string, before: boolean | null, after: boolean | null][] = [
  ['0.0.0.0', '0.255.255.255', null, true],
  ['10.0.0.0', '10.255.255.255', true, true],
  ['100.64.0.0', '100.127.255.255', true, true],
  ['127.0.0.0', '127.255.255.255', true, true],
  ['169.254.0.0', '169.254.255.255', true, true],
  ['172.16.0.0', '172.31.255.255', true, true],
  ['192.0.0.0', '192.0.0.255', true, true],
  ['192.0.2.0', '192.0.2.255', true, true],
  ['192.88.99.0', '192.88.99.255', true, true],
  ['192.168.0.0', '192.168.255.255', true, true],
  ['198.18.0.0', '198.19.255.255', true, true],
  ['198.51.100.0', '198.51.100.255', true, true],
  ['203.0.113.0', '203.0.113.255', true, true],
  ['168.63.129.16', '168.63.129.16', true, true],
  ['224.0.0.0', '239.255.255.255', true, false],
  ['240.0.0.0', '255.255.255.255', false, null],
  ['::', '::ffff:ffff', null, false],
  ['::ffff:0:0', '::ffff:ffff:ffff', false, false],
  ['64:ff9b::', '64:ff9b::ffff:ffff', false, false],
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', false, false],
  ['100::', '100::ffff:ffff:ffff:ffff', false, false],
  ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff', true, false],
  ['2001:1::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', false, true],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', true, true],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true, true],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', true, true],
  ['4000::', '5fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true, false],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false, false],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false, false],
  ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false, false],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', false, null],
];

function neighbour(address: string, step: 1 | -1): string {
  const bytes = ipaddr.parse(address).toByteArray();
  const bits = BigInt(bytes.length * 8);
  const value = BigInt.asUintN(Number(bits), bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n) + BigInt(step));
  return ipaddr.fromByteArray(bytes.map((_byte, index) => Number((value >> (bits - 8n * BigInt(index + 1))) & 255n))).toString();
}

test('the address check distinguishes public from internal addresses at both edges of every range', () => {
  for (const [first, last, before, after] of deniedRanges) {
    assert.equal(isPublicAddress(first), false, first);
    assert.equal(isPublicAddress(last), false, last);
    if (before !== null) assert.equal(isPublicAddress(neighbour(first, -1)), before, `before ${first}: ${neighbour(first, -1)}`);
    if (after !== null) assert.equal(isPublicAddress(neighbour(last, 1)), after, `after ${last}: ${neighbour(last, 1)}`);
  }
  for (const address of ['8.8.8.8', '2606:4700:4700::1111', '1.0.0.0', '223.255.255.255'])
    assert.equal(isPublicAddress(address), true, address);
  for (const text of ['', 'example.com', 'fe80::1%eth0', '2606:4700::1%1', '8.8.8', '008.8.8.8'])
    assert.equal(isPublicAddress(text), false, text);
});

test('the address check gives each host one spelling', () => {
  const table: [string, string | null][] = [
    ['EXAMPLE.com.', 'example.com'],
    ['2130706433', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['①②⑦.⓪.⓪.①', '127.0.0.1'],
    ['[::FFFF:127.0.0.1]', '::ffff:7f00:1'],
    ['::1', '::1'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['a b', null],
    ['a/b', null],
    ['u@h', null],
    ['h:80', null],
    ['', null],
    ['.', null],
  ];
  for (const [text, host] of table) assert.equal(parseHost(text), host, text);
  assert.deepEqual(parseAuthority('[::1]:443'), { host: '::1', port: 443 });
  assert.equal(parseAuthority('example.com'), null);
});

test('the port check lets web ports through and keeps mail, shells and databases out', () => {
  assert.deepEqual(
    [80, 443, 1024, 3000, 8080, 8443, 65_535].filter((port) => !isWebPort(port)),
    [],
  );
  assert.deepEqual([0, 21, 22, 25, 465, 587, 993, 2375, 3306, 5432, 6379, 6667, 11_211, 27_017, 65_536].filter(isWebPort), []);
});

test('an entry of the allow list allows what it names and nothing else', () => {
  const list = parseAllowList(' 10.0.0.0/8, fd00::/8 ,127.0.0.1:3000,[::1]:3001,intranet.example, wiki:8080 ,192.168.1.1, ');
  const allowed: [string, string, number][] = [
    ['x', '10.1.2.3', 22],
    ['x', '::ffff:10.1.2.3', 80],
    ['x', 'fd00::5', 80],
    ['x', '127.0.0.1', 3000],
    ['x', '::1', 3001],
    ['intranet.example', '172.16.0.1', 25],
    ['wiki', '172.16.0.1', 8080],
    ['192.168.1.1', '192.168.1.1', 1],
  ];
  const refused: [string, string, number][] = [
    ['x', '11.0.0.0', 80],
    ['x', '127.0.0.1', 3001],
    ['wiki', '172.16.0.1', 80],
    ['a.intranet.example', '172.16.0.1', 80],
    ['x', '192.168.1.2', 80],
    ['x', 'fe00::1', 80],
  ];
  for (const each of allowed) assert.equal(list.allows(...each), true, each.join(' '));
  for (const each of refused) assert.equal(list.allows(...each), false, each.join(' '));
  assert.deepEqual(
    [list.hasPort('x', '127.0.0.1', 3000), list.hasPort('x', '10.1.2.3', 80), list.hasPort('192.168.1.1', '192.168.1.1', 80)],
    [true, false, false],
  );
});

test('an allow list entry that could never match is refused, and named', () => {
  for (const entry of ['10.0.0.0/33', 'x/8', '10.0.0.0/', 'http://a', 'a:0', 'a:70000', '*.example.com', 'a b', '[::1', 'fd00::/129'])
    assert.throws(
      () => parseAllowList(`10.0.0.0/8,${entry}`),
      (error) => error instanceof AllowListError && error.message.includes(`"${entry}"`),
      entry,
    );
});

test('a wildcard matches the names under a name and not the name itself', () => {
  const matches = domainMatcher(['example.com', '*.example.org']);
  assert.deepEqual(
    ['example.com', 'a.example.org', 'a.b.example.org', 'a.example.com', 'example.org', 'badexample.org', 'org'].map(matches),
    [true, true, true, false, false, false, false],
  );
});
