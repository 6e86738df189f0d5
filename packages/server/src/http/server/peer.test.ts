import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { Peers, networkOf } from './peer.ts';

const from = (remoteAddress: string, headers: Record<string, string> = {}): IncomingMessage =>
  ({ socket: { remoteAddress, localAddress: '::1', localPort: 80 }, headers }) as unknown as IncomingMessage;

test('forwarded addresses are believed only as far as trusted proxies go', () => {
  const peers = new Peers(['10.0.0.0/8', '::1', '192.0.2.7'], null);
  const forwarded = { 'x-forwarded-for': '203.0.113.9, 198.51.100.4, 10.1.1.1' };
  assert.equal(peers.address(from('198.51.100.1', forwarded)), '198.51.100.1');
  assert.equal(peers.address(from('10.2.2.2', forwarded)), '198.51.100.4');
  assert.equal(peers.address(from('::ffff:10.2.2.2', forwarded)), '198.51.100.4');
  assert.equal(peers.address(from('::1', { 'x-forwarded-for': 'nonsense' })), '::1');
  assert.equal(peers.address(from('192.0.2.7')), '192.0.2.7');
});

test('the origin of a request is as configured, as forwarded, or as requested', () => {
  const forwarded = { host: 'inner:8080', 'x-forwarded-host': 'outer.example', 'x-forwarded-proto': 'https' };
  assert.equal(new Peers([], 'https://berth.example/').origin(from('::1', forwarded)), 'https://berth.example');
  assert.equal(new Peers(['::1'], null).origin(from('::1', forwarded)), 'https://outer.example');
  assert.equal(new Peers([], null).origin(from('::1', forwarded)), 'http://inner:8080');
  assert.equal(new Peers([], null).origin(from('::1', { host: '"><script>' })), 'http://[::1]:80');
});

test('a list of trusted proxies that cannot be parsed is refused', () => {
  for (const entry of ['', 'localhost', '10.0.0.0/x', '10.0.0/8']) assert.throws(() => new Peers([entry], null), TypeError);
});

test('all addresses of an IPv6 /64 are counted as one', () => {
  assert.equal(networkOf('2001:db8:1:2:3::4'), networkOf('2001:db8:1:2::'));
  assert.notEqual(networkOf('2001:db8:1:2::'), networkOf('2001:db8:1:3::'));
  assert.equal(networkOf('192.0.2.1'), '192.0.2.1');
});
