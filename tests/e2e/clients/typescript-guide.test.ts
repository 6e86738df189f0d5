/** The programs of docs/typescript.md, with the packed client, against the service. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { programsOf } from '../../contract/documents.ts';
import { Service, stopAll } from '../service.ts';
import { startSite, type Site } from '../site.ts';

const root = join(import.meta.dirname, '../../..');
/** What each program prints. */
const printed = [
  'Home\n',
  'Hello Ada 2cf24dba\ntrue\n',
  'Home\n1\ntrue\n',
  /^true\nok\nfetch http:\/\/[^ ]+\/second ok\n$/,
  'true\nblocked_by_policy\ntrue\ntrue\n',
  /^\{"title":"Home","url":"[^"]+","status":200\}\n1024 image\ndata:image\/png;\n$/,
];

let dir: string;
let site: Site;
let service: Service;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-typescript-'));
  site = await startSite();
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
  const modules = join(dir, 'node_modules');
  await mkdir(join(modules, '@berth'), { recursive: true });
  await promisify(execFile)(process.execPath, [join(root, 'scripts/pack/pack-sdk.ts'), join(modules, '@berth/sdk')]);
  for (const name of ['playwright-core', 'puppeteer-core']) await symlink(join(root, 'node_modules', name), join(modules, name));
  await writeFile(join(dir, 'package.json'), '{"type":"module"}');
});
after(async () => {
  await stopAll();
  await site.close();
  await rm(dir, { recursive: true, force: true });
});

test('the guide has as many programs as are run', () => assert.equal(programsOf('docs/typescript.md', 'ts').length, printed.length));

for (const [index, expected] of printed.entries())
  test(`program ${index + 1} of the guide prints what it should`, async () => {
    const file = join(dir, `program-${index + 1}.ts`);
    const program = programsOf('docs/typescript.md', 'ts')[index] ?? assert.fail();
    await writeFile(file, program.replaceAll('https://example.com', site.url));
    const env = { PATH: process.env['PATH'], BERTH_URL: service.url, BERTH_API_KEY: service.key, HOME: dir };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: dir, env, timeout: 120_000 });
    if (typeof expected === 'string') assert.equal(stdout, expected);
    else assert.match(stdout, expected);
  });
