/**
 * A mixed load for half an hour: what ordinary owners feel while one hostile
 * owner does one kind of harm after another. `--runs` is the time in minutes.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Berth } from '../berth.ts';
import type { Bench } from '../context.ts';
import type { Section } from '../figures.ts';
import { serveIssuer } from '../issuer.ts';
import { attacks } from './soak/hostile.ts';
import { type Owner, createOwner, plan } from './soak/owner.ts';
import { type Sample, workUntil } from './soak/ordinary.ts';
import { type Measured, type Phase, report } from './soak/report.ts';
import { endedSessions, statsOf, nameLeft, watchWorker } from './soak/worker.ts';

const minutesDefault = 30;
/** Shares of the time, before any harm and after all of it. */
const calmShare = 0.3;
const afterShare = 0.1;
const hostileEntry = join(import.meta.dirname, 'soak/hostile.ts');
const graceMs = 2000;

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
};

interface Scene {
  bench: Bench;
  berth: Berth;
  hostile: Owner;
  hostilePort: number;
  minutes: number;
}

/** First calm, then one attack after another, each in a process that ends with its phase, then calm again. */
async function playPhases({ bench, berth, hostile, hostilePort, minutes }: Scene): Promise<Phase[]> {
  const phases: Phase[] = [];
  const kinds = Object.keys(attacks).filter((kind) => bench.only.length === 0 || bench.only.some((text) => kind.includes(text)));
  const phase = async (name: string, ms: number): Promise<void> => {
    bench.reportProgress(name);
    const fromMs = performance.now();
    const before = await statsOf(berth);
    await sleep(ms);
    phases.push({ name, fromMs, toMs: performance.now(), before, stats: await statsOf(berth) });
  };
  await phase('warm-up', 10_000);
  await phase('calm', minutes * 60_000 * calmShare);
  for (const kind of kinds) {
    const args = [hostileEntry, berth.url, hostile.key, String(hostilePort), kind];
    const attacker = bench.stage.start(process.execPath, args, { stdio: 'ignore' });
    await phase(kind, (minutes * 60_000 * (1 - calmShare - afterShare)) / kinds.length);
    await bench.stage.stop(attacker, { graceMs });
    await endSessions(berth, hostile);
  }
  await phase('after all attacks', minutes * 60_000 * afterShare);
  return phases;
}

/** Ends the sessions that one attack left, so that they do not count for the next. */
async function endSessions(berth: Berth, { key }: Owner): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${berth.url}/v1/sessions?limit=100`, { headers });
  const sessions = (await response.json()) as { session_id: string }[];
  for (const { session_id } of sessions) await fetch(`${berth.url}/v1/session/${session_id}`, { method: 'DELETE', headers });
}

async function measure(bench: Bench): Promise<Measured> {
  const [issuer, hostilePort] = [await serveIssuer(bench.stage), await freePort()];
  const tiers = join(bench.stage.folder('tiers'), 'tiers.json');
  writeFileSync(tiers, JSON.stringify({ default_tier: 'everyone', tiers: { everyone: plan }, prices: {} }), { mode: 0o644 });
  const berth = await Berth.start(bench.stage, {
    chromium: bench.chromium,
    poolTarget: 1,
    allow: `${bench.site.address},127.0.0.1:${hostilePort}`,
    environment: { ...issuer.environment, BERTH_TIERS_FILE: tiers, BERTH_LOG_LEVEL: 'error' },
  });
  const [first, second, hostile] = [
    await createOwner(berth, issuer, 'first'),
    await createOwner(berth, issuer, 'second'),
    await createOwner(berth, issuer, 'hostile'),
  ];
  const samples: Sample[] = [];
  const finished = new AbortController();
  const work = workUntil(finished.signal, [first, second], bench.site.url, (sample) => samples.push(sample));
  const watch = watchWorker(berth, finished.signal);
  const played = playPhases({ bench, berth, hostile, hostilePort, minutes: bench.runs ?? minutesDefault });
  // The work ends also when the service dies under an attack.
  const phases = await played.finally(() => finished.abort());
  await work;
  const watched = await watch;
  const owners = { first, second, hostile };
  const ended = await Promise.all(Object.entries(owners).map(async ([owner, each]) => ({ owner, sessions: await endedSessions(each) })));
  await berth.stop();
  return { samples, phases, ended, memory: watched.memory, left: await nameLeft(watched) };
}

export async function soak(bench: Bench): Promise<Section> {
  const name = 'soak: ordinary owners beside a hostile one';
  if (!bench.withBerth) return { name, columns: [], rows: [], checks: [], notes: ['needs the service'] };
  return { name, ...report(await measure(bench)) };
}
