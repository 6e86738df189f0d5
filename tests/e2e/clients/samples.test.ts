/** The samples of the API reference are true: each runs as it stands there, in each language, against a real service. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import {
  createConnectToken,
  createKey,
  createSession,
  createSignInLink,
  endpoints,
  fetchPage,
  inspect,
  listTabs,
  listWorkers,
  runActions,
} from '@berth/contract';
import { nightly } from '../../nightly.ts';
import { environment, installing, runPython, withPython } from '../../services/python.ts';
import { Service, stopAll } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const root = resolve(import.meta.dirname, '../../..');
type Language = 'curl' | 'typescript' | 'python' | 'cli';
const samples = JSON.parse(readFileSync(join(root, 'packages/server/src/docs/generated/samples.json'), 'utf8')) as Record<
  string,
  Partial<Record<Language, string>>
>;

/** What comes of a sample whose subject this service does not have: the code of the error shows that it arrived. */
const refused: Readonly<Record<string, RegExp>> = {
  redeemCredits: /code_not_found/,
  redeemPromo: /code_not_found|billing_not_configured/,
  checkout: /billing_not_configured/,
  billingPortal: /billing_not_configured/,
  getProfile: /profile_not_found/,
  deleteProfile: /profile_not_found/,
  deleteSkill: /skill_not_found/,
  createVncToken: /vnc_unavailable/,
  // The key of the samples is that of a program.
  endLinkSignIn: /key_not_found/,
  // curl writes the body into the file; the command line looks for the recording itself.
  readRecordingAsset: /recording_not_found|no_recording|error: 404/,
};
/** Drains the only worker, which the other samples need. */
const notRun = ['drainWorker'];
/** These end what others use, in this order. The events of a session end with it, which is not waited for. */
const last = [
  'closeTab',
  'revokeViewTokens',
  'revokeConnectToken',
  'revokeOwnKey',
  'revokeKey',
  'streamEvents',
  'endSession',
  'endAnySession',
];
const order = [...endpoints.map(({ id }) => id).filter((id) => !last.includes(id) && !notRun.includes(id)), ...last];

let site: Site;
let service: Service;
let loginToken: string;
let inspection: string;
const folder = mkdtempSync(join(tmpdir(), 'berth-samples-'));
before(async () => {
  site = await startSite({
    pages: {
      '/': page('Home', '<article><h1>Welcome</h1><p>Words of an article.</p></article><a id="file" href="/file" download>File</a>'),
    },
  });
  const environment = { BERTH_EGRESS_ALLOW: site.host, BERTH_DEV_IDP: '1' };
  service = await Service.start({ environment });
  const signedIn = await fetch(`${service.url}/dev-idp/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ email: 'ada@example.com', organisation: 'acme' }),
  });
  [loginToken = ''] = /eyJ[\w.-]+/.exec(await signedIn.text()) ?? [];
  const { body } = await service.client.call(inspect, { body: { url: `${site.url}/`, include: ['site', 'screenshot'] } });
  inspection = body.job_id ?? assert.fail('the inspection is no job');
});
after(async () => {
  await stopAll();
  await site.close();
  rmSync(folder, { recursive: true, force: true });
});

const variables = (): Record<string, string> => ({
  BERTH_URL: service.url,
  BERTH_API_KEY: service.key,
  BERTH_ADMIN_KEY: service.adminKey,
  BERTH_LOGIN_TOKEN: loginToken,
});

/** Returns the samples of a language with the ids of things that exist, in the order in which they run. */
async function prepare(language: Language): Promise<{ id: string; code: string }[]> {
  const { client } = service;
  const createLive = async (): Promise<string> =>
    (await client.call(createSession, { body: { start_url: `${site.url}/` } })).body.session_id;
  const [session_id, other] = [await createLive(), await createLive()];
  const params = { session_id };
  const { body: ran } = await client.call(runActions, { params, body: { actions: [{ type: 'download', selectors: ['#file'] }] } });
  const download = /"download_id":"([^"]+)"/.exec(JSON.stringify(ran))?.[1] ?? assert.fail(JSON.stringify(ran));
  const { body: tabs } = await client.call(listTabs, { params });
  const { body: job } = await client.call(fetchPage, { body: { url: `${site.url}/`, async: true } });
  const { body: token } = await client.call(createConnectToken, { body: { name: language } });
  const { body: link } = await client.call(createSignInLink);
  const { body: workers } = await client.call(listWorkers);
  const { body: key } = await client.call(createKey, { body: { owner: 'other', name: language } });
  const own = await fetch(`${service.url}/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${loginToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: `rotated by ${language}` }),
  });
  const { key_id: ownKey } = (await own.json()) as { key_id: string };
  const ids: Readonly<Record<string, string>> = {
    ses_3k2v9q0d7m5x1c8b4n6z2f7h: session_id,
    tab_3k2v9q0d7m5x1c8b4n6z2f7h: tabs[0]?.tab_id ?? '',
    dl_3k2v9q0d7m5x1c8b4n6z2f7h: download,
    job_3k2v9q0d7m5x1c8b4n6z2f7h: job.job_id ?? '',
    tok_3k2v9q0d7m5x1c8b4n6z2f7h: token.token_id,
    key_3k2v9q0d7m5x1c8b4n6z2f7h: key.key_id,
    wrk_01m7c8z0r2x4v6b8n0m2k4j6h8: workers[0]?.worker_id ?? '',
    brt_link_6nQ2v9RkT0xW4yB7cD1eF5gH8jK3mP6sU9zA2bC4dE7f1hJ3L: link.url?.split('#link=')[1] ?? '',
  };
  return order.flatMap((id) => {
    const code = samples[id]?.[language];
    if (code === undefined) return [];
    const special: Readonly<Record<string, string>> = {
      ...ids,
      ...(id === 'endAnySession' ? { ses_3k2v9q0d7m5x1c8b4n6z2f7h: other } : {}),
      ...(id.startsWith('getInspect') ? { job_3k2v9q0d7m5x1c8b4n6z2f7h: inspection } : {}),
      ...(id.endsWith('OwnKey') ? { key_3k2v9q0d7m5x1c8b4n6z2f7h: ownKey } : {}),
    };
    const filled = Object.entries(special).reduce((text, [from, to]) => text.replaceAll(from, to), code);
    return [
      {
        id,
        code: filled
          .replaceAll('http://127.0.0.1:8080', service.url)
          .replaceAll('ws://127.0.0.1:8080', service.url.replace(/^http/, 'ws'))
          .replaceAll('https://example.com/', `${site.url}/`),
      },
    ];
  });
}

interface Documented {
  requestBody?: { content: Record<string, { example?: unknown }> };
}

/** What failed, by operation: the text of the error, or nothing. */
type Outcome = Record<string, string | null>;

function assertOutcome(prepared: readonly { id: string }[], outcome: Outcome): void {
  const wrong = prepared.flatMap(({ id }) => {
    const error = outcome[id];
    const code = refused[id];
    if (error === undefined) return [`${id} did not run`];
    if (code !== undefined) return error && code.test(error) ? [] : [`${id}: ${code.source} expected, and not ${error?.slice(0, 300)}`];
    return error === null ? [] : [`${id}: ${error.slice(0, 500)}`];
  });
  assert.deepEqual(wrong, []);
}

/** Runs all in one shell. curl shows the body of an error; a stream is cut, which is 28 of curl and 124 of `timeout`. */
async function inShell(prepared: readonly { id: string; code: string }[], { prelude, cwd, env }: Shell): Promise<Outcome> {
  const script = prepared.map(({ id, code }) => `( ${code}\n) >"out-${id}" 2>&1 </dev/null; echo $? >"code-${id}"`);
  writeFileSync(join(cwd, 'samples.sh'), [prelude, ...script].join('\n'));
  const path = `${cwd}/bin:${process.env['PATH']}`;
  await promisify(execFile)('bash', ['samples.sh'], { cwd, env: { PATH: path, ...env }, timeout: 500_000 });
  return Object.fromEntries(
    prepared.map(({ id }) => {
      const code = Number(readFileSync(join(cwd, `code-${id}`), 'utf8'));
      const isCut = id === 'streamEvents' && [28, 124].includes(code);
      return [id, code === 0 || isCut ? null : `${code} ${readFileSync(join(cwd, `out-${id}`), 'utf8').slice(0, 1000)}`];
    }),
  );
}

interface Shell {
  prelude: string;
  cwd: string;
  env: Record<string, string>;
}

const hello = (cwd: string): void => writeFileSync(join(cwd, 'hello.txt'), 'hello');
const workFolder = (name: string): string => {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  hello(cwd);
  return cwd;
};

describe('the samples of the API reference', () => {
  it('the samples for curl run', async () => {
    const prepared = await prepare('curl');
    const prelude = 'curl() { command curl -sS --fail-with-body --max-time $([ "$1" = -N ] && echo 3 || echo 60) "$@"; }';
    const outcome = await inShell(prepared, { prelude, cwd: workFolder('curl'), env: variables() });
    assertOutcome(prepared, outcome);
    assert.ok(prepared.length > 90, String(prepared.length));
  });

  it('the samples for TypeScript are typed, and run', async () => {
    const prepared = await prepare('typescript');
    const cwd = workFolder('typescript');
    const modules = join(cwd, 'node_modules/@berth');
    mkdirSync(modules, { recursive: true });
    symlinkSync(join(root, 'packages/sdk'), join(modules, 'sdk'));
    for (const name of ['playwright-core', '@types']) symlinkSync(join(root, 'node_modules', name), join(cwd, 'node_modules', name));
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
    const imports = new Set<string>();
    const functions = prepared.map(({ id, code }) => {
      const lines = code.split('\n');
      for (const line of lines.filter((one) => one.startsWith('import '))) imports.add(line);
      return `  ${id}: async () => {\n${lines.filter((one) => !one.startsWith('import ')).join('\n')}\n  },`;
    });
    const runner = `const outcome: Record<string, string | null> = {};\nconsole.log = () => {};\nfor (const [id, sample] of Object.entries(samples)) outcome[id] = await (id === 'streamEvents' ? Promise.race([sample(), new Promise<void>((resolve) => setTimeout(resolve, 1000))]) : sample()).then(() => null, (error: unknown) => String((error as { code?: string }).code) + ' ' + String(error));\nprocess.stdout.write(JSON.stringify(outcome), () => process.exit());`;
    const file = join(cwd, 'samples.ts');
    writeFileSync(
      file,
      `${[...imports].join('\n')}\nconst samples: Record<string, () => Promise<void>> = {\n${functions.join('\n')}\n};\n${runner}\n`,
    );
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'esnext',
      '--types',
      'node',
      '--allowImportingTsExtensions',
      'samples.ts',
    ];
    const typed = await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), options, { cwd }).catch(
      (error: { stdout: string }) => error,
    );
    assert.equal(typed.stdout, '');
    const { stdout } = await promisify(execFile)(process.execPath, [file], {
      cwd,
      env: { PATH: process.env['PATH'], HOME: cwd, ...variables() },
      maxBuffer: 32 * 1024 * 1024,
      timeout: 240_000,
    });
    assertOutcome(prepared, JSON.parse(stdout) as Outcome);
    assert.ok(prepared.length > 90, String(prepared.length));
  });

  it('the samples for the command line run', nightly, async () => {
    // Each start of the program takes a while: calls by their path differ only in what the next test compares.
    const prepared = (await prepare('cli')).filter(
      ({ id, code }) => !code.includes('berth api ') || ['updateSession', 'closeTab'].includes(id),
    );
    const cwd = workFolder('cli');
    const prelude = `berth() { command timeout $([ "$1" = logs ] && echo 5 || echo 60) ${process.execPath} ${join(root, 'packages/cli/src/main.ts')} "$@"; }`;
    const env = { ...variables(), HOME: cwd, XDG_CONFIG_HOME: join(cwd, 'config'), XDG_STATE_HOME: join(cwd, 'state') };
    assertOutcome(prepared, await inShell(prepared, { prelude, cwd, env }));
    assert.ok(prepared.length > 35, String(prepared.length));
  });

  it('the samples for the command line that call a path have that of the operation, and the body of its example', async () => {
    const calls = Object.entries(samples).flatMap(([id, { cli }]) => (cli?.includes('berth api ') ? [{ id, cli }] : []));
    // Each argument ends with a NUL, and each call with two.
    const script = `berth() { printf '%s\\0' "$@"; printf '\\0'; }\n${calls.map(({ cli }) => cli).join('\n')}`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script], {
      env: { PATH: process.env['PATH'], BERTH_LOGIN_TOKEN: 'token' },
    });
    const ran = stdout.split('\0\0').slice(0, -1);
    assert.equal(ran.length, calls.length);
    const { paths } = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')) as { paths: Record<string, Record<string, Documented>> };
    for (const [index, { id }] of calls.entries()) {
      const [command, method = '', address = '', ...rest] = (ran[index] ?? '').split('\0');
      const { path } = endpoints.find((one) => one.id === id) ?? assert.fail(id);
      assert.equal(command, 'api');
      assert.match(address.split('?')[0] ?? '', new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', String.raw`\.`)}$`));
      const example = paths[path]?.[method.toLowerCase()]?.requestBody?.content['application/json']?.example;
      const data = rest[0] === '--data' ? (JSON.parse(rest[1] ?? '') as unknown) : undefined;
      assert.deepEqual(data, example ?? (data === undefined ? undefined : {}), id);
    }
  });

  describe('with Python', { ...withPython, ...nightly }, () => {
    let interpreter: string;
    before(async () => {
      interpreter = await environment('wheel', { packages: ['httpx==0.28.1'], client: 'wheel' });
    }, installing);

    it('the samples for Python run', async () => {
      // The guide to Python runs with Playwright.
      const prepared = (await prepare('python')).filter(({ code }) => !code.includes('playwright'));
      const functions = prepared.map(
        ({ id, code }) =>
          `def ${id}():\n${code
            .split('\n')
            .map((line) => `    ${line}`)
            .join('\n')}\n`,
      );
      const runner = `import contextlib, io, json, os, sys, threading\noutcome = {}\nfor sample in [${prepared.map(({ id }) => id).join(', ')}]:\n    try:\n        with contextlib.redirect_stdout(io.StringIO()):\n            if sample.__name__ == "streamEvents":\n                thread = threading.Thread(target=sample, daemon=True)\n                thread.start()\n                thread.join(1)\n            else:\n                sample()\n        outcome[sample.__name__] = None\n    except Exception as error:\n        outcome[sample.__name__] = str(getattr(error, "code", "")) + " " + repr(error)\njson.dump(outcome, sys.stdout)\n`;
      const cwd = workFolder('python');
      writeFileSync(join(cwd, 'samples.py'), `${functions.join('\n')}\n${runner}`);
      const output = await runPython(interpreter, ['samples.py'], { HOME: cwd, ...variables() }, cwd);
      assertOutcome(prepared, JSON.parse(output) as Outcome);
      assert.ok(prepared.length > 90, String(prepared.length));
    });
  });
});
