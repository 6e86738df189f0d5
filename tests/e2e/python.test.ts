/** The Python client: as it is built and installed, against the service, with its guide and with the libraries that people use beside it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { programsOf } from '../documents.ts';
import { buildClient, environment, runPython, withPython } from '../python.ts';
import { Service, stopAll } from './service.ts';
import { startSite, type Site } from './site.ts';

const root = resolve(import.meta.dirname, '../..');
const requirements = join(root, 'examples/python/requirements.txt');

describe('the Python client', { ...withPython, timeout: 900_000 }, () => {
  let site: Site;
  let service: Service;
  let interpreter: string;
  before(async () => {
    interpreter = await environment('clients', { requirements, client: 'wheel' });
    site = await startSite();
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '2' } });
  });
  after(async () => {
    await stopAll();
    await site.close();
  });
  const environmentOf = (): Record<string, string> => ({
    BERTH_URL: service.url,
    BERTH_API_KEY: service.key,
    BERTH_ADMIN_KEY: service.adminKey,
    SITE_URL: site.url,
  });

  for (const [client, httpx] of [
    ['wheel', 'httpx==0.28.1'],
    ['sdist', 'httpx==0.23.0'],
  ] as const)
    it(`the ${client} of the Python client, installed alone with ${httpx}, does what every client does`, async () => {
      const alone = await environment(client, { packages: [httpx], client });
      assert.match(await runPython(alone, ['clients/python/tests/cases.py'], {}), /^OK$/m);
    });

  it('the wheel of the Python client has its types, and nothing beside the package', async () => {
    const { wheel } = await buildClient();
    const list = await runPython(interpreter, ['-m', 'zipfile', '--list', wheel], {});
    const names = Array.from(list.matchAll(/^(\S+) /gm), ([, name = '']) => name).slice(1);
    assert.ok(names.includes('berth/py.typed'), list);
    assert.deepEqual(
      names.filter((name) => !/^berth(-[\d.]+\.dist-info)?\//.test(name)),
      [],
    );
  });

  it('the Python client does what it promises, against the service', async () => {
    const output = await runPython(interpreter, ['clients/python/tests/live.py'], environmentOf());
    assert.match(output, /^OK$/m);
  });

  for (const [index, program] of programsOf('docs/python.md', 'python').entries())
    it(`program ${index + 1} of the guide to Python runs`, async () => {
      const cwd = mkdtempSync(join(tmpdir(), 'berth-python-'));
      try {
        await runPython(interpreter, ['-c', program.replaceAll('https://example.com/', `${site.url}/`)], environmentOf(), cwd);
      } finally {
        rmSync(cwd, { recursive: true });
      }
    });
});
