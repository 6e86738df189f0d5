/** The rows of the compatibility table in docs/clients.md: each is a script that runs against a session, with its client unchanged. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { listSessions } from '@berth/contract';
import { nightly } from '../../nightly.ts';
import { Service, eventually } from '../service.ts';
import { startSite, type Site } from '../site.ts';

const root = resolve(import.meta.dirname, '../../..');
/** What the scripts import or run. */
const shared = ['berth.mjs', 'mcp.mjs', 'page.mjs', 'playwright-test.spec.mjs'];
const examples = globSync('*.mjs', { cwd: join(root, 'examples') })
  .filter((name) => !shared.includes(name))
  .toSorted();
/** Maximum duration of one script, on a machine that is busy with others. */
const scriptMsMax = 180_000;

describe('examples', { concurrency: 3 }, () => {
  let site: Site;
  let service: Service;
  /** Clients keep sockets and settings in the home folder. */
  const home = mkdtempSync(join(tmpdir(), 'berth-home-'));
  before(async () => {
    site = await startSite();
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '3' } });
  });
  after(async () => {
    await eventually('every script has ended its session', async () => {
      const { body: open } = await service.client.call(listSessions, { query: { status: 'ready' } });
      return open.length === 0;
    });
    await service.close();
    await site.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });

  const run = (name: string): Promise<unknown> => {
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([variable]) => !variable.startsWith('BERTH_')));
    const env = { ...inherited, HOME: home, BERTH_URL: service.url, BERTH_API_KEY: service.key, SITE_URL: site.url };
    return promisify(execFile)(process.execPath, [join(root, 'examples', name)], { env, cwd: home, timeout: scriptMsMax });
  };

  /** Libraries that others are made of. */
  const sample = ['playwright.mjs', 'chrome-remote-interface.mjs'];
  for (const name of examples)
    it(`the example ${name} runs`, sample.includes(name) ? {} : nightly, async () => {
      await run(name);
    });

  it('the examples are the rows of the table in docs/clients.md', () => {
    const rows = readFileSync(join(root, 'docs/clients.md'), 'utf8').matchAll(/\.\.\/examples\/([\w-]+\.mjs)/g);
    assert.deepEqual([...new Set(Array.from(rows, ([, name = '']) => basename(name)))].toSorted(), examples);
  });
});
