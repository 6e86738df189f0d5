/** The guides by task: all blocks of a language, one after another, do what the guide promises, in each language. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { endSession, listSessions } from '@berth/contract';
import { Server as Proxy } from 'proxy-chain';
import { clientsOf } from '../../../packages/web/src/dashboard/pages/home/first-steps.ts';
import { documents, textOf } from '../../contract/documents.ts';
import { inTurn } from '../../nightly.ts';
import { environment, installing, withPython } from '../../services/python.ts';
import { Service, stopAll } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const root = resolve(import.meta.dirname, '../../..');
const languages = ['curl', 'typescript', 'python', 'cli'] as const;
type Language = (typeof languages)[number];

interface Promised {
  /** What each language prints. */
  prints: RegExp;
  file?: string;
}
const promised: Readonly<Record<string, Promised>> = {
  'docs/task-sign-in.md': { prints: /Hello Ada/ },
  'docs/task-proxy.md': { prints: /Welcome/, file: 'page.png' },
  'docs/task-csv.md': { prints: /Lamp"?,19\.5\s+"?Chair"?,120\s/, file: 'products.csv' },
  'docs/task-many-urls.md': { prints: /(?:ok\s[^\n]*\/page\/\d\s[^\n]*\n){3}/ },
  'docs/task-agent-loop.md': { prints: /Hello/ },
  'docs/task-hand-over.md': { prints: /ok|Form/ },
  'docs/task-limit-customer.md': { prints: /free/ },
};

const pages: Parameters<typeof startSite>[0] = {
  pages: {
    '/login': page(
      'Sign in',
      '<form method="post" action="/sign-in"><input name="username" aria-label="User name"><input name="password" type="password" aria-label="Password"><button>Sign in</button></form>',
    ),
    '/sign-in': (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { username, password } = Object.fromEntries(new URLSearchParams(body));
        const isRight = username === 'ada@example.com' && password === 'correct horse';
        response
          .writeHead(303, {
            location: isRight ? '/account' : '/login',
            ...(isRight ? { 'set-cookie': 'member=ada; Path=/; Max-Age=3600' } : {}),
          })
          .end();
      });
    },
    '/account': (request, response) => {
      const isMember = /member=ada/.test(request.headers.cookie ?? '');
      if (isMember)
        response
          .setHeader('content-type', 'text/html')
          .end(page('Account', '<main><h1>Hello Ada</h1><a href="/sign-out">Sign out</a></main>'));
      else response.writeHead(303, { location: '/login' }).end();
    },
    '/products': page(
      'Products',
      [
        ['Lamp', '19.50'],
        ['Chair', '120'],
      ]
        .map(([name, price]) => `<div class="product"><h2>${name}</h2><p class="price">€ ${price}</p></div>`)
        .join(''),
    ),
    ...Object.fromEntries(
      [1, 2, 3].map((number) => [`/page/${number}`, page(`Page ${number}`, `<main><p>Text of page ${number}.</p></main>`)]),
    ),
  },
};

let site: Site;
let service: Service;
let interpreter = '';
let proxied = 0;
const proxy = new Proxy({
  port: 0,
  host: '127.0.0.1',
  prepareRequestFunction: ({ username, password }) => {
    const isRight = username === 'user' && password === 'secret';
    if (isRight) proxied++;
    return { requestAuthentication: !isRight };
  },
});
const folder = mkdtempSync(join(tmpdir(), 'berth-tasks-'));
before(async () => {
  [site] = await Promise.all([startSite(pages), proxy.listen()]);
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${site.host},127.0.0.1:${proxy.port}` } });
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/berth'), `#!/bin/sh\nexec ${process.execPath} ${join(root, 'packages/cli/src/main.ts')} "$@"\n`);
  chmodSync(join(folder, 'bin/berth'), 0o755);
  if (!withPython.skip) interpreter = await environment('wheel', { packages: ['httpx==0.28.1'], client: 'wheel' });
}, installing);
after(async () => {
  await stopAll();
  await Promise.all([site.close(), proxy.close(true)]);
  rmSync(folder, { recursive: true, force: true });
});

const blocksOf = (file: string, language: Language): string[] =>
  Array.from(textOf(file).matchAll(/^```\w+ (\w+)\n([^]*?)^```/gm))
    .filter(([, name]) => name === language)
    .map(([, , code = '']) => code);

/** Runs the blocks of a language in a folder of its own; returns that folder and all that they print. */
function follow(file: string, language: Language): Promise<{ cwd: string; output: string }> {
  const code = blocksOf(file, language)
    .join('\n')
    .replaceAll('https://shop.example', site.url)
    .replaceAll('proxy.example:3128', `127.0.0.1:${proxy.port}`);
  const name = { curl: 'task.sh', typescript: 'task.ts', python: 'task.py', cli: 'task.sh' }[language];
  const program = { curl: 'bash', typescript: process.execPath, python: interpreter, cli: 'bash' }[language];
  return start(`${file} in ${language}`, program, { name, code });
}

async function start(
  what: string,
  program: string,
  { name, code }: { name: string; code: string },
): Promise<{ cwd: string; output: string }> {
  const cwd = join(folder, what.replaceAll(/\W/g, '-'));
  mkdirSync(join(cwd, 'node_modules/@berth'), { recursive: true });
  symlinkSync(join(root, 'packages/sdk'), join(cwd, 'node_modules/@berth/sdk'));
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
  writeFileSync(join(cwd, 'urls.txt'), [1, 2, 3].map((number) => `${site.url}/page/${number}\n`).join(''));
  writeFileSync(join(cwd, name), code);
  const env = {
    PATH: [join(folder, 'bin'), dirname(process.execPath), dirname(interpreter), process.env['PATH']].join(delimiter),
    HOME: cwd,
    BERTH_URL: service.url,
    BERTH_API_KEY: service.key,
    BERTH_ADMIN_KEY: service.adminKey,
  };
  // A pipe that breaks early fails, as a command does.
  const args = program === 'bash' ? ['-eo', 'pipefail', name] : [name];
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd, env, timeout: 120_000 });
    return { cwd, output: stdout };
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${what}: ${stdout}\n${stderr}`, { cause: error });
  }
}

describe('the guides by task', () => {
  it('each guide by task is run', () => {
    const files = [...documents.keys()].filter((file) => file.startsWith('docs/task-'));
    assert.deepEqual(files.toSorted(), Object.keys(promised).toSorted());
  });

  for (const [row, [file, { prints, file: written }]] of Object.entries(promised).entries())
    for (const [way, language] of languages.entries())
      it(
        `${file} does what it promises in ${language}`,
        { ...(language === 'python' ? withPython : {}), ...inTurn(row, way, languages.length) },
        async (t) => {
          if (blocksOf(file, language).length === 0) return t.skip('the guide has no block in this language');
          const { cwd, output } = await follow(file, language);
          assert.match(output, prints);
          if (written !== undefined) assert.ok(existsSync(join(cwd, written)), written);
          if (file === 'docs/task-proxy.md') assert.ok(proxied > 0, 'the proxy was not used');
        },
      );

  it('a guide by task begins with what its first block does, and the block stands on the first screen', () => {
    for (const file of Object.keys(promised)) {
      const text = textOf(file);
      const lines = text.slice(0, text.indexOf('\n```')).split('\n').length;
      assert.ok(lines <= 12, `${file}: ${lines} lines before the first block`);
    }
  });
});

describe('the first commands of the dashboard', () => {
  for (const { id, title, steps } of clientsOf({ origin: '', key: '', url: '' })) {
    // Its commands are for an agent, which is not there; `mcp-http.test.ts` has the address.
    if (id === 'mcp') continue;
    it(
      `the first commands for ${title} read a page and start a browser, also when they are repeated`,
      id === 'python' ? withPython : {},
      async () => {
        const client = clientsOf({ origin: service.url, key: service.key, url: `${site.url}/products` }).find((each) => each.id === id);
        const commands = (client?.steps ?? []).map(({ command }) => command);
        assert.equal(commands.length, steps.length);
        const { output } = await start(`first commands ${id}`, 'bash', {
          name: 'first.sh',
          code: [...commands, commands.at(-1)].join('\n'),
        });
        assert.match(output, /Lamp/);
        const started = (await service.client.call(listSessions, { query: { status: 'ready' } })).body;
        assert.equal(started.length, 2);
        for (const { session_id } of started) await service.client.call(endSession, { params: { session_id } });
      },
    );
  }
});
