/** The requests of api.test.ts, sent to sessions with real browsers in a service of its own process. Part of `npm run test:nightly`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { health, listSessions } from '@berth/contract';
import * as fc from 'fast-check';
import { Service, eventually, stopAll } from '../e2e/service.ts';
import { explore } from './fuzz-run.ts';
import { requests, type FuzzRequest } from './requests.ts';
import { SessionRun, type FuzzTarget } from './session-run.ts';

let service: Service;
let target: FuzzTarget;
before(async () => {
  service = await Service.start({ environment: { BERTH_AUTH_FAILURES_PER_MINUTE_MAX: '1000000' } });
  const { client, url, key, dataDir } = service;
  const adminKey = readFileSync(join(dataDir, 'admin-key'), 'utf8').trim();
  // Logins have no part in a browser; api.test.ts has valid ones.
  const login = (): Promise<string> => Promise.resolve('no-login');
  target = { url, key, adminKey, login, kind: 'headless', call: (endpoint, request) => client.call(endpoint, request) };
});
after(stopAll);

async function play(sequence: readonly FuzzRequest[]): Promise<void> {
  const run = await SessionRun.open(target);
  for (const request of sequence) await run.send(request);
  await run.close();
}

/** Memory that only this process holds and that is not of a file. */
const privateBytes = (): number =>
  Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1] ?? Number.NaN) * 1024;
const memoryGrowthMax = 1.5;

it('the service with real browsers answers any sequence of API requests as its description says', { timeout: 86_400_000 }, async () => {
  const sequences = fc.array(requests, { minLength: 1, maxLength: 12 });
  for (const sequence of fc.sample(sequences, { seed: 1, numRuns: 10 })) await play(sequence);
  const before = privateBytes();
  await explore('requests to sessions with real browsers', sequences, play, 20);
  await eventually(
    'no session is left',
    async () => (await target.call(listSessions, { query: { status: 'ready,starting,ending' } })).body.length === 0,
  );
  await eventually('the service is healthy', async () => (await target.call(health)).body.status === 'ok');
  await eventually('memory is given back', () => privateBytes() < before * memoryGrowthMax);
  assert.doesNotMatch(service.errors, /internal_error|unhandled|uncaught/i);
});
