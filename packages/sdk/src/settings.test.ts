import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { readSettings } from './settings.ts';

const variables = ['BERTH_URL', 'BERTH_API_KEY', 'BERTH_ADMIN_KEY', 'BERTH_PROFILE', 'XDG_CONFIG_HOME'];
const outside = Object.fromEntries(variables.map((name) => [name, process.env[name]]));
const file = {
  current: 'work',
  profiles: { work: { url: 'https://work.example/', api_key: 'work-key' }, home: { url: 'http://home.example', api_key: 'home-key' } },
};

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-sdk-'));
  await mkdir(join(dir, 'berth'));
  await store(JSON.stringify(file));
});
afterEach(async () => {
  for (const name of variables) delete process.env[name];
  await store(JSON.stringify(file));
});
after(async () => {
  for (const [name, value] of Object.entries(outside)) if (value !== undefined) process.env[name] = value;
  await rm(dir, { recursive: true });
});

const store = (text: string): Promise<void> => writeFile(join(dir, 'berth/config.json'), text);

async function read(env: Record<string, string>, options: Parameters<typeof readSettings>[0] = {}) {
  Object.assign(process.env, { XDG_CONFIG_HOME: dir, ...env });
  const { baseUrl, apiKey, adminKey } = await readSettings(options);
  return { baseUrl, apiKey, adminKey };
}

test('arguments come before the environment, and the environment before the profile', async () => {
  const env = { BERTH_URL: 'http://env.example', BERTH_API_KEY: 'env-key', BERTH_ADMIN_KEY: 'env-admin' };
  assert.deepEqual(await read(env), { baseUrl: 'http://env.example', apiKey: 'env-key', adminKey: 'env-admin' });
  assert.deepEqual(await read(env, { baseUrl: 'http://arg.example', apiKey: 'arg-key', adminKey: 'arg-admin' }), {
    baseUrl: 'http://arg.example',
    apiKey: 'arg-key',
    adminKey: 'arg-admin',
  });
});

test('the current profile of the command line has address and key', async () => {
  assert.deepEqual(await read({}), { baseUrl: 'https://work.example', apiKey: 'work-key', adminKey: undefined });
});

test('BERTH_PROFILE names another profile', async () => {
  assert.deepEqual(await read({ BERTH_PROFILE: 'home' }), { baseUrl: 'http://home.example', apiKey: 'home-key', adminKey: undefined });
});

test('a profile that does not exist is an error that names it', async () => {
  await assert.rejects(read({ BERTH_PROFILE: 'moon' }), /has no profile moon/);
});

test('the key of a profile is not sent to another address', async () => {
  assert.equal((await read({ BERTH_URL: 'http://other.example' })).apiKey, undefined);
  assert.equal((await read({}, { baseUrl: 'https://work.example' })).apiKey, 'work-key');
});

test('null stands for no key, also where the environment has one', async () => {
  assert.equal((await read({ BERTH_API_KEY: 'env-key' }, { apiKey: null })).apiKey, undefined);
});

test('without a profile the address is that of a service on this machine', async () => {
  assert.deepEqual(await read({ XDG_CONFIG_HOME: join(dir, 'missing') }), {
    baseUrl: 'http://127.0.0.1:8080',
    apiKey: undefined,
    adminKey: undefined,
  });
});

test('a profile that cannot be parsed is an error that does not show it', async () => {
  await store('{"profiles": secret-key');
  await assert.rejects(read({}), (error: Error) => {
    assert.match(error.message, /config\.json is not JSON/);
    assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /secret/);
    return true;
  });
});
