/** The service itself: access, keys, usage, and what operators look at. */
import type { KeyResponse, WorkerResponse } from '@berth/sdk';
import { configPath, currentProfile, readConfig, writeConfig, type Profile } from '../../settings/config-file.ts';
import type { Action, Context } from '../../context.ts';
import { CommandError, exitCodes, usageError } from '../../failures.ts';
import { toPairs } from '../../options.ts';
import { renderTable, renderValue, report, type Report } from '../../output.ts';
import { redact } from '../../terminal.ts';
import { readStdin } from '../read.ts';

/** Stores a key that works. It is asked for, or read from standard input or a file, never an argument, which others on the machine could see. */
export const login: Action = async (context) => {
  const { options } = context;
  if (options.flag('link')) return createLink(context);
  if (options.text('owner') !== undefined) throw usageError('--owner is for --link: a key is stored as it is.');
  const config = readConfig(context.env);
  const name = options.text('as') ?? currentProfile(context.env, config);
  const url = options.text('url') ?? context.env['BERTH_URL'] ?? config.profiles[name]?.url ?? 'http://127.0.0.1:8080';
  const key = (await readKey(context, `API key for ${url}: `)).trim();
  if (key === '') throw usageError('No key was given.', 'berth login --url http://127.0.0.1:8080 <data/api-key');
  const isAdmin = options.flag('admin');
  const { Berth } = await import('@berth/sdk');
  const berth = new Berth({ baseUrl: url, apiKey: isAdmin ? null : key, adminKey: isAdmin ? key : null });
  // A key that does not work is not stored.
  if (isAdmin) await berth.admin.overview({ signal: context.signal });
  else await berth.usage.get({}, { signal: context.signal });
  const before: Profile = config.profiles[name]?.url === url ? (config.profiles[name] ?? {}) : {};
  const profile = { ...before, url, ...(isAdmin ? { admin_key: key } : { api_key: key }) };
  writeConfig(context.env, { current: name, profiles: { ...config.profiles, [name]: profile } });
  return report({ profile: name, url, key: redact(key), file: configPath(context.env) });
};

/** A link for a person without a key at hand. It takes the admin key, of `login --admin` or BERTH_ADMIN_KEY. */
async function createLink(context: Context): Promise<Report> {
  const { options, signal } = context;
  if (context.access.adminKey === undefined)
    throw new CommandError(
      exitCodes.unauthorized,
      'no_key',
      'A link takes the admin key.',
      'Run `berth login --admin --key-file FILE` with the file admin-key of the data directory, or set BERTH_ADMIN_KEY.',
    );
  const berth = await context.berth();
  const link = await berth.admin.signInLinks.create(
    { owner: options.text('owner') ?? 'local', ttl_seconds: options.number('ttl') },
    { signal },
  );
  return report({ ...link }, ({ url, expires_at: expiresAt }) => `${url}\nIt works once, until ${expiresAt}.`);
}

async function readKey({ options, env }: Context, question: string): Promise<string> {
  const file = options.text('keyFile');
  if (file !== undefined) {
    const { readFile } = await import('node:fs/promises');
    return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw usageError(`${file} cannot be read: ${error.code}.`);
    });
  }
  if (!process.stdin.isTTY) {
    const piped = await readStdin();
    return piped.trim() === '' ? (env['BERTH_API_KEY'] ?? '') : piped;
  }
  const { password, isCancel } = await import('@clack/prompts');
  const answer = await password({ message: question });
  if (isCancel(answer)) throw new CommandError(exitCodes.interrupted, 'interrupted', 'Interrupted.');
  return answer;
}

export const logout: Action = async (context) => {
  const config = readConfig(context.env);
  const name = currentProfile(context.env, config);
  const { [name]: removed, ...profiles } = config.profiles;
  if (removed) writeConfig(context.env, { current: config.current, profiles });
  return report({ profile: name, status: removed ? 'removed' : 'absent' });
};

const shownProfile = ({ url, api_key, admin_key }: Profile): Record<string, string | null> => ({
  url: url ?? null,
  api_key: api_key === undefined ? null : redact(api_key),
  admin_key: admin_key === undefined ? null : redact(admin_key),
});

/** Shows the profiles, or uses another one from now on. */
export const config: Action = async (context) => {
  const stored = readConfig(context.env);
  const [word, name] = context.args;
  if (word === 'use') {
    if (name === undefined || !stored.profiles[name])
      throw usageError(`There is no profile ${JSON.stringify(name ?? '')}.`, 'Run `berth login --as NAME` to make one.');
    writeConfig(context.env, { ...stored, current: name });
    return report({ current: name });
  }
  if (word === 'path') return report({ path: configPath(context.env) }, ({ path }) => path);
  if (word !== undefined) throw usageError(`config knows use and path, not ${JSON.stringify(word)}.`);
  const profiles = Object.fromEntries(Object.entries(stored.profiles).map(([each, profile]) => [each, shownProfile(profile)]));
  const data = { current: currentProfile(context.env, stored), file: configPath(context.env), profiles };
  return report(data, (seen, paint) =>
    renderTable(
      Object.entries(seen.profiles),
      [
        ['', ([each]) => (each === seen.current ? '*' : '')],
        ['profile', ([each]) => each],
        ['url', ([, profile]) => profile['url']],
        ['key', ([, profile]) => profile['api_key']],
      ],
      paint,
    ),
  );
};

export const status: Action = async (context) => {
  const { url, apiKey, profile } = context.access;
  const berth = await context.berthWith(apiKey ?? 'none');
  const health = await berth.health({ signal: context.signal, maxRetries: 0 });
  const stored = context.findSession();
  const session =
    stored === undefined || apiKey === undefined ? null : await berth.sessions.get(stored.id, { signal: context.signal }).catch(() => null);
  const data = {
    url,
    profile,
    key: apiKey === undefined ? null : redact(apiKey),
    service: health.status,
    checks: health.checks,
    session: session && {
      session_id: session.session_id,
      status: session.status,
      url: session.current_url,
      expires_at: session.expires_at,
    },
  };
  return report(data, (seen, paint) =>
    renderValue(
      {
        service: `${seen.url} (${seen.service})`,
        key: seen.key ?? 'none',
        session: seen.session ? `${seen.session.session_id} ${seen.session.status} ${seen.session.url ?? ''}` : 'none',
      },
      paint,
    ),
  );
};

export const usage: Action = async (context) => {
  const berth = await context.berth();
  const days = context.options.number('days');
  return report(await berth.usage.get(days === undefined ? {} : { days }, { signal: context.signal }));
};

/** Entries of the ledger that are shown. */
const entriesMax = 20;

export const credits: Action = async (context) => {
  const [word, code] = context.args;
  const berth = await context.berth();
  const { signal } = context;
  if (word === 'redeem') {
    if (code === undefined) throw usageError('credits redeem needs a code.', 'berth credits redeem CODE');
    return report(await berth.credits.redeem({ code }, { signal }));
  }
  if (word === 'ledger') return report((await berth.credits.entries({ limit: entriesMax }, { signal })).items);
  if (word !== undefined) throw usageError(`credits knows redeem and ledger, not ${JSON.stringify(word)}.`);
  return report(await berth.credits.get({ signal }));
};

/** People manage their own keys with a login token; operators those of all owners with the admin key. */
export const keys: Action = async (context) => {
  const [word, id] = context.args;
  const berth = await context.berth();
  const { signal, options } = context;
  const isOperator = context.access.adminKey !== undefined;
  if (word === undefined)
    return listKeys((await (isOperator ? berth.admin.keys.list({}, { signal }) : berth.keys.list({}, { signal }))).items);
  if (word === 'create') return createKey(context);
  if (word !== 'revoke' && word !== 'rotate') throw usageError(`keys knows create, rotate and revoke, not ${JSON.stringify(word)}.`);
  if (id === undefined) throw usageError(`keys ${word} needs the id of a key.`, 'Run `berth keys` to see them.');
  if (word === 'revoke' && isOperator) {
    await berth.admin.keys.revoke(id, { signal });
    return report({ key_id: id, status: 'revoked' });
  }
  if (word === 'revoke') return report(await berth.keys.revoke(id, { signal }));
  const grace = options.number('graceSeconds');
  return report(await berth.keys.rotate(id, grace === undefined ? {} : { grace_seconds: grace }, { signal }));
};

async function createKey(context: Context): Promise<Report> {
  const { options, signal } = context;
  const berth = await context.berth();
  const [name, days, owner] = [options.text('name'), options.number('expiresInDays'), options.text('owner')];
  const fields = { ...(name === undefined ? {} : { name }), ...(days === undefined ? {} : { expires_in_days: days }) };
  if (context.access.adminKey === undefined) return report(await berth.keys.create(fields, { signal }));
  if (owner === undefined) throw usageError('An operator says whose key it is.', 'berth keys create --owner acme --name ci');
  return report(await berth.admin.keys.create({ owner, ...fields }, { signal }));
}

const listKeys = (items: KeyResponse[]): Report =>
  report(items, (rows, paint) =>
    renderTable(
      rows,
      [
        ['key', (row) => row.key_id],
        ['name', (row) => row.name],
        ['ends in', (row) => row.last4],
        ['status', (row) => row.status],
        ['last used', (row) => row.last_used_at],
      ],
      paint,
    ),
  );

export const pool: Action = async (context) => {
  const [word, target] = context.args;
  const berth = await context.berth();
  if (word === undefined) return report(await berth.admin.pool.get({ signal: context.signal }));
  if (word !== 'resize' || target === undefined || !/^\d+$/.test(target))
    throw usageError('pool knows resize NUMBER.', 'berth pool resize 4');
  return report(await berth.admin.pool.resize({ target: Number(target) }, { signal: context.signal }));
};

export const workers: Action = async (context) => {
  const [word, id] = context.args;
  const berth = await context.berth();
  const { signal } = context;
  if (word === undefined) return listWorkers(await berth.admin.workers.list({ signal }));
  if (id === undefined) throw usageError(`workers ${word} needs the id of a worker.`, 'Run `berth workers` to see them.');
  if (word === 'cordon') return report(await berth.admin.workers.cordon(id, { signal }));
  if (word === 'uncordon') return report(await berth.admin.workers.uncordon(id, { signal }));
  if (word === 'drain') return report(await berth.admin.workers.drain(id, {}, { signal }));
  throw usageError(`workers knows cordon, uncordon and drain, not ${JSON.stringify(word)}.`);
};

const listWorkers = (items: WorkerResponse[]): Report =>
  report(items, (rows, paint) =>
    renderTable(
      rows,
      [
        ['worker', (row) => row.worker_id],
        ['region', (row) => row.region],
        ['state', (row) => (row.alive ? row.state : 'dead')],
        ['sessions', (row) => `${row.sessions}/${row.sessions_max}`],
        ['version', (row) => row.version],
      ],
      paint,
    ),
  );

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Calls any path of the API, with the keys, retries and errors of all other commands. */
export const api: Action = async (context) => {
  const [first = '', second] = context.args;
  const [method, path] = second === undefined ? ['GET', first] : [first.toUpperCase(), second];
  if (!methods.includes(method) || !path.startsWith('/')) throw usageError('api takes a method and a path.', 'berth api GET /v1/sessions');
  const fields = toPairs(context.options.list('field'), '--field');
  const data = context.options.text('data');
  const query = method === 'GET' || method === 'DELETE' ? fields : {};
  const body =
    data !== undefined ? parseBody(data === '-' ? await readStdin() : data) : Object.keys(fields).length > 0 ? fields : undefined;
  const berth = await context.berth();
  const reply = await berth.raw.request(method, path as `/${string}`, {
    query,
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: body ?? {} }),
    asAdmin: context.options.flag('admin') || path.startsWith('/admin') || path.startsWith('/v1/admin'),
    signal: context.signal,
  });
  return report(reply ?? null, (seen) => JSON.stringify(seen, null, 2));
};

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageError('--data is not JSON.');
  }
}
