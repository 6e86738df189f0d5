/** The Python client: as it is built and installed, against the service, with its guide and with the libraries that people use beside it. */
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { programsOf, textOf } from '../../contract/documents.ts';
import { nightly } from '../../nightly.ts';
import { buildClient, environment, installing, runPython, withPython } from '../../services/python.ts';
import { endForwards, Forward } from './forward.ts';
import { Service, stopAll } from '../service.ts';
import { startSite, type Site } from '../site.ts';

const root = resolve(import.meta.dirname, '../../..');
const pyright = join(root, 'node_modules/pyright/index.js');
const examplesOf = (libraries: readonly string[]): string[] => libraries.map((library) => `with_${library}.py`);
const requirements = join(root, 'examples/python/requirements.txt');

describe('the Python client', withPython, () => {
  let site: Site;
  let service: Service;
  let interpreter: string;
  /** Libraries keep settings in the home folder. */
  const home = mkdtempSync(join(tmpdir(), 'berth-home-'));
  before(async () => {
    interpreter = await environment('clients', { requirements, client: 'wheel' });
    site = await startSite();
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '2' } });
  }, installing);
  after(async () => {
    await stopAll();
    await site.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
  const environmentOf = (): Record<string, string> => ({
    HOME: home,
    BERTH_URL: service.url,
    BERTH_API_KEY: service.key,
    BERTH_ADMIN_KEY: service.adminKey,
    SITE_URL: site.url,
  });

  for (const [client, httpx, often] of [
    ['wheel', 'httpx==0.28.1', {}],
    ['sdist', 'httpx==0.23.0', nightly],
  ] as const)
    it(
      `the ${client} of the Python client, installed alone with ${httpx}, does what every client does`,
      { ...installing, ...often },
      async () => {
        const alone = await environment(client, { packages: [httpx], client });
        assert.match(await runPython(alone, ['clients/python/tests/cases.py'], {}), /^OK$/m);
      },
    );

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

  it('the Python client is typed in whole', async () => {
    const env = { PATH: `${dirname(interpreter)}:${process.env['PATH']}` };
    const report = await runPython(process.execPath, [pyright, '--verifytypes', 'berth', '--ignoreexternal'], env, tmpdir());
    assert.match(report, /^Type completeness score: 100%$/m);
  });

  it('the Python client passes the strict check of its types', async () => {
    await runPython(process.execPath, [pyright, '-p', join(root, 'clients/python'), '--pythonpath', interpreter], {});
  });

  for (const name of examplesOf(['playwright', 'scrapy']))
    it(`the Python example ${name} runs`, name.includes('playwright') ? {} : nightly, async () => {
      await runPython(interpreter, [join(root, 'examples/python', name)], environmentOf(), home);
    });

  for (const words of [[], ['--each']])
    // `forward.test.ts` has other clients beside it in every run.
    it(`the Python example with_selenium.py runs beside ${['berth forward', ...words].join(' ')}`, nightly, async () => {
      const env = environmentOf();
      const { address } = await Forward.start(words, { home, env });
      try {
        const script = join(root, 'examples/python/with_selenium.py');
        await runPython(interpreter, [script], { ...env, DEBUGGER_ADDRESS: new URL(address).host }, home);
      } finally {
        await endForwards();
      }
    });

  describe('with libraries for agents', nightly, () => {
    let agents: string;
    before(async () => {
      agents = await environment('agents', { requirements: join(root, 'examples/python/requirements-agents.txt'), client: 'wheel' });
    }, installing);
    for (const name of examplesOf(['browser_use', 'langchain']))
      it(`the Python example ${name} runs`, async () => {
        await runPython(agents, [join(root, 'examples/python', name)], environmentOf(), home);
      });
  });

  it('the Python examples are rows of the table in docs/clients.md', () => {
    const rows = textOf('docs/clients.md').matchAll(/\.\.\/examples\/python\/(\w+\.py)/g);
    assert.deepEqual(
      Array.from(rows, ([, name = '']) => name).toSorted(),
      globSync('*.py', { cwd: join(root, 'examples/python') }).toSorted(),
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
