import assert from 'node:assert/strict';
import { lookup } from 'node:dns/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { assertPrompt } from '../../../../tests/yardstick.ts';
import { dnsServer, type DnsServer } from '../../testing/dns.ts';
import { defaultLimits } from '../gate/limits.ts';
import { EgressError } from '../policy.ts';
import { MachineNames, NameResolver, type NameLimits } from './resolve.ts';
import { DnsServersError, parseDnsServers, SystemNames } from './system-names.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { browser, fetchPlain } from '../../testing/gate.ts';

const never = new AbortController().signal;

async function start(
  t: TestContext,
  records: Readonly<Record<string, readonly string[]>>,
  limits: Partial<NameLimits> = {},
): Promise<{ dns: DnsServer; shared: NameResolver; system: SystemNames }> {
  const dns = await dnsServer(t, records);
  const system = new SystemNames({ servers: [dns.address], hostsPath: '/dev/null' });
  return { dns, system, shared: new NameResolver(system.resolve, { ...defaultLimits, ...limits }) };
}

const outcome = (work: Promise<readonly string[]>): Promise<string> =>
  work.then(
    (addresses) => addresses.join(),
    (error: unknown) => (error instanceof EgressError ? error.reason : String(error)),
  );

test('a machine that asks for names which nobody answers holds up no other machine, and no thread', async (t) => {
  const records = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`good-${n}.test`, ['93.184.216.34']]));
  const { dns, shared } = await start(t, records, { lookupsWaitingMax: 40, resolveTimeoutMs: 60_000 });
  const [hostile, other] = [new MachineNames(shared), new MachineNames(shared)];
  await hostile.resolve('good-0.test', never);
  const leave = new AbortController();
  const flood = Array.from({ length: 100 }, (_, n) => outcome(hostile.resolve(`silent-${n}.test`, leave.signal)));
  await eventually('the flood has begun', () => dns.asked.size > defaultLimits.lookupsMax);
  // Each silent name takes a minute, and libuv has four threads.
  const startedMs = performance.now();
  for (const name of Object.keys(records)) assert.deepEqual(await other.resolve(name, never), ['93.184.216.34']);
  await lookup('localhost');
  assert.deepEqual(await hostile.resolve('good-0.test', never), ['93.184.216.34'], 'what it knows needs no turn');
  assertPrompt(startedMs, 30_000, 'nobody waited for a silent name');
  assert.equal([...dns.asked].filter((name) => name.startsWith('silent')).length, defaultLimits.lookupsMax);
  leave.abort(new Error('left'));
  const results = await Promise.all(flood);
  assert.equal(results.filter((each) => each === 'dns_failed').length, 100 - defaultLimits.lookupsMax - 40, 'the queue is bounded');
});

test('a lookup whose caller has left keeps its place until it ends', async (t) => {
  const { dns, shared } = await start(t, {}, { lookupsMax: 2, resolveTimeoutMs: 300 });
  const machine = new MachineNames(shared);
  const leaving = new AbortController();
  const startedMs = performance.now();
  const left = ['a.test', 'b.test'].map((name) => outcome(machine.resolve(name, leaving.signal)));
  await eventually('both are asked for', () => dns.asked.size === 2);
  leaving.abort(new Error('left'));
  await Promise.all(left);
  const next = outcome(machine.resolve('c.test', never));
  await eventually('its turn comes', () => dns.asked.has('c.test'));
  // Both ended 300 ms after they began; timers may be a millisecond early.
  assert.ok(performance.now() - startedMs > 290, 'it has waited for its turn');
  assert.equal(await next, 'dns_failed');
});

test('a name that failed to resolve is not asked for again for a moment', async (t) => {
  const { dns, shared } = await start(t, {}, { resolveTimeoutMs: 50, failedNameTtlMs: 60_000 });
  for (const name of ['x.none.test', 'silent.test']) {
    assert.equal(await outcome(shared.resolve(name, never)), 'dns_failed');
    dns.asked.delete(name);
    assert.equal(await outcome(shared.resolve(name, never)), 'dns_failed');
    assert.equal(dns.asked.has(name), false, name);
  }
});

test('every address of a name is checked, and a name without one is refused', async (t) => {
  const { system } = await start(t, { 'two.test': ['93.184.216.34', '10.0.0.1'], 'empty.test': [] });
  assert.deepEqual(await system.resolve('two.test'), ['93.184.216.34', '10.0.0.1']);
  await assert.rejects(system.resolve('empty.test'), { code: 'ENODATA' });
  await assert.rejects(system.resolve('x.none.test'), { code: 'ENOTFOUND' });
  const from = await browser(t, { allowText: '', resolver: system.resolve });
  assert.equal((await fetchPlain(from, 'http://two.test/')).headers['x-berth-egress'], 'blocked_by_policy');
});

test('DNS servers are addresses with or without a port', () => {
  assert.deepEqual(parseDnsServers(' 10.0.0.2, 10.0.0.3:5353 ,[fd00::2]:53,'), ['10.0.0.2', '10.0.0.3:5353', '[fd00::2]:53']);
  assert.deepEqual(parseDnsServers(''), []);
  for (const wrong of ['dns.example', '10.0.0.2:x', '10.0.0.2 10.0.0.3'])
    assert.throws(() => parseDnsServers(wrong), DnsServersError, wrong);
});

test('the hosts file is read before DNS, and a change of it takes effect', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-hosts-'));
  t.after(() => rm(folder, { recursive: true }));
  const hostsPath = join(folder, 'hosts');
  await writeFile(hostsPath, '127.0.0.1 localhost\n10.1.2.3\tDB.test db # 10.9.9.9 no.test\n::1 db.test\nnonsense x.test\n');
  const dns = await dnsServer(t, { 'db.test': ['93.184.216.34'], 'x.test': ['93.184.216.35'] });
  const system = new SystemNames({ servers: [dns.address], hostsPath, rereadMs: 0 });
  assert.deepEqual(await system.resolve('db.test'), ['10.1.2.3', '::1']);
  assert.deepEqual(await system.resolve('db'), ['10.1.2.3']);
  assert.deepEqual(await system.resolve('x.test'), ['93.184.216.35']);
  await writeFile(hostsPath, '10.1.2.4 db.test\n');
  assert.deepEqual(await system.resolve('db.test'), ['10.1.2.4']);
});
