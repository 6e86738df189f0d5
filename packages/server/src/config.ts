/** The one reader of the environment: a schema, a sentence for each variable, refused at start when wrong. */
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { loginAlgorithms } from './login/login.ts';

const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, `a whole number from ${least} to ${most}`)
    .transform(Number)
    .pipe(z.number().min(least).max(most));
const path = z
  .string()
  .min(1)
  .transform((text) => (isAbsolute(text) ? text : resolve(text)));
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean),
);

const flag = z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1');

const webUrl = z.url({ protocol: /^https?$/, error: 'an address of http or https' });
const secret = z.string().min(32, 'at least 32 characters');
/** It travels in a header as it is. */
const visible = z.string().regex(/^[\x21-\x7e]+$/, 'visible ASCII without blanks');

const algorithms = list.pipe(z.array(z.enum(loginAlgorithms, { error: `out of ${loginAlgorithms.join(', ')}` })).min(1, 'one at least'));

interface Variable {
  schema: z.ZodType;
  /** As text, as it would stand in the environment; null: unset means what the sentence says. */
  default: string | null;
  sentence: string;
}
const variable = <S extends z.ZodType, D extends string | null>(schema: S, fallback: D, sentence: string) => ({
  schema,
  default: fallback,
  sentence,
});

export const variables = {
  BERTH_HOST: variable(z.string().min(1), '127.0.0.1', 'Address to listen on.'),
  BERTH_PORT: variable(whole(0, 65_535), '8080', 'Port to listen on; 0 takes a free one and tells it.'),
  BERTH_PUBLIC_URL: variable(
    webUrl.transform((text) => text.replace(/\/+$/, '')),
    null,
    'Address that callers use, for links in replies; unset: what each request came in on.',
  ),
  BERTH_TRUSTED_PROXIES: variable(list, '', 'Comma-separated addresses whose `X-Forwarded-*` headers are believed.'),
  BERTH_DATA_DIR: variable(path, './data', 'Folder for everything that is kept: database, keys, machines.'),
  BERTH_DATABASE_URL: variable(
    z.url({ protocol: /^postgres(ql)?$/ }),
    null,
    'PostgreSQL to use; unset: an embedded one in the data folder.',
  ),
  BERTH_ADMIN_KEY: variable(
    secret,
    null,
    'Key for admin endpoints, at least 32 characters; unset: made on the first start and kept in `admin-key`.',
  ),
  BERTH_BOOTSTRAP_API_KEY: variable(
    z.string(),
    null,
    'API key of the owner `local`; unset: made on the first start and kept in `api-key`.',
  ),
  BERTH_RUNTIME: variable(
    z.enum(['auto', 'process', 'qemu']),
    'auto',
    'How machines run. `process`: in a jail of namespaces on this host. `qemu`: each in a virtual machine of its own, emulated where KVM does not work. `auto`: `qemu` where KVM works and the image is built, else `process`.',
  ),
  BERTH_IMAGES_DIR: variable(path, null, 'Folder of the images that virtual machines start from; unset: `images` in the data folder.'),
  BERTH_QEMU: variable(path, '/usr/bin/qemu-system-x86_64', 'The QEMU that virtual machines run in.'),
  BERTH_VM_MEMORY_MB: variable(whole(512, 65_536), '1024', 'Megabytes of memory that a virtual machine has.'),
  BERTH_VM_CPUS: variable(whole(1, 16), '1', 'Processors that a virtual machine has.'),
  BERTH_CHROMIUM: variable(path, '/usr/lib/chromium/chromium', 'The Chromium to run.'),
  BERTH_FETCH_CHROMIUM: variable(
    path,
    '/usr/lib/chromium/chromium-headless-shell',
    'The Chromium that machines of fetches run: its shell without windows; where it is not installed, that of `BERTH_CHROMIUM`.',
  ),
  BERTH_POOL_TARGET: variable(
    whole(0, 1000),
    '2',
    'Machines kept warm in the region, shared by its workers, until an operator sets another number.',
  ),
  BERTH_MAX_SESSIONS: variable(whole(1, 10_000), '20', 'Sessions alive at once on this worker, whoever owns them.'),
  BERTH_MEMORY_FREE_MB_MIN: variable(
    whole(0, 1_000_000),
    '512',
    'Megabytes of memory that must stay available after a machine was started: below it none is.',
  ),
  BERTH_TAB_LIMIT: variable(whole(1, 100), '10', 'Tabs in one session, where the tier says nothing.'),
  BERTH_TAB_LIMIT_FULL_BROWSER: variable(whole(1, 100), '16', 'The same in a session of the kind `full_browser`.'),
  BERTH_REGION: variable(z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/), 'local', 'Region of this worker.'),
  BERTH_REGIONS_FILE: variable(path, null, 'JSON file of regions and their proxies; unset: one region, no proxies.'),
  BERTH_TIERS_FILE: variable(path, null, 'JSON file of plans; unset: the built-in ones.'),
  BERTH_CREDITS_ENFORCED: variable(flag, 'false', 'Whether calls are refused when the wallet of their owner is empty.'),
  BERTH_DEV_IDP: variable(
    flag,
    'false',
    'Whether this service signs people in itself, whoever they say they are: for one machine, on a loopback address only.',
  ),
  BERTH_OIDC_ISSUER: variable(webUrl, null, 'Issuer of login tokens, to the letter as it stands in their `iss`; unset: nobody signs in.'),
  BERTH_OIDC_AUDIENCE: variable(z.string().min(1), null, 'What login tokens must name in their `aud`; needed with an issuer.'),
  BERTH_OIDC_JWKS_URL: variable(webUrl, null, 'Where the issuer’s keys are; unset: asked of the issuer.'),
  BERTH_OIDC_ORG_CLAIM: variable(z.string().min(1), 'org_id', 'Claim of a login token that names the organisation that acts.'),
  BERTH_OIDC_ALGORITHMS: variable(
    algorithms,
    'RS256,ES256,EdDSA',
    'Comma-separated algorithms that login tokens may be signed with; asymmetric ones only.',
  ),
  BERTH_STRIPE_SECRET_KEY: variable(visible, null, 'Key of the Stripe account that plans are paid to; unset: none can be bought.'),
  BERTH_STRIPE_WEBHOOK_SECRET: variable(visible, null, 'Secret that Stripe signs its events with.'),
  BERTH_STRIPE_API_URL: variable(webUrl, null, 'Address of Stripe’s API, for a stand-in or a proxy; unset: Stripe’s own.'),
  BERTH_ALLOW_UNSIGNED_WEBHOOKS: variable(
    flag,
    'false',
    'Whether unsigned billing events are believed also where others reach the service: whoever can send one can give himself any plan.',
  ),
  BERTH_METRICS_TOKEN: variable(secret.pipe(visible), null, 'Token for `/metrics`, at least 32 characters; unset: the admin key opens it.'),
  BERTH_EGRESS_ALLOW: variable(
    z.string(),
    '',
    'Comma-separated networks and `host:port` that browsers may reach although they are not public.',
  ),
  BERTH_AD_HOSTS_FILE: variable(path, null, 'Hosts file whose names `block_ads` refuses beside the built-in ones.'),
  BERTH_ALLOW_EVALUATE: variable(flag, 'false', 'Whether steps may run a caller’s own JavaScript in a page.'),
  BERTH_FETCH_PAGES: variable(whole(1, 64), '4', 'Pages that one machine of fetches shows at once.'),
  BERTH_FETCH_MACHINES: variable(whole(1, 64), '1', 'Machines for the fetches of one owner and way out.'),
  BERTH_JOBS_RUNNING: variable(whole(1, 1000), '8', 'Jobs at work at once on this worker.'),
  BERTH_JOBS_QUEUED: variable(whole(1, 100_000), '500', 'Jobs that wait for a place on this worker.'),
  BERTH_CAPTCHA_HTTP_URL: variable(
    webUrl.refine((text) => new URL(text).username === '' && new URL(text).password === '', 'an address without credentials'),
    null,
    'Your own endpoint that is asked for answers to captchas, http or https, without credentials in it; unset: none is asked.',
  ),
  BERTH_CAPTCHA_HTTP_SECRET: variable(secret, null, 'Secret that requests to that endpoint are signed with, at least 32 characters.'),
  BERTH_CAPTCHA_HUMAN: variable(flag, 'false', 'Whether a captcha may wait for a person at the session.'),
  BERTH_CAPTCHA_TIMEOUT_SECONDS: variable(whole(5, 600), '120', 'How long a captcha may take to be solved.'),
  BERTH_FFMPEG: variable(
    path,
    '/usr/bin/ffmpeg',
    'The ffmpeg that makes videos of recordings; where it is not installed, recordings hold single pictures.',
  ),
  BERTH_RECORDING_MB_MAX: variable(whole(1, 1_000_000), '1024', 'Megabytes at which a recording stops and is called truncated.'),
  BERTH_RECORDING_FREE_MB_MIN: variable(whole(0, 1_000_000), '512', 'Free megabytes of the disk below which recordings stop.'),
  BERTH_AUTH_FAILURES_PER_MINUTE: variable(
    whole(1, 1_000_000),
    '3000',
    'Missing or wrong credentials that one address may send in a minute before it is told to wait; good keys still pass.',
  ),
  BERTH_SESSION_RETENTION_HOURS: variable(whole(1, 8760), '24', 'Hours for which an ended session can still be read.'),
  BERTH_DRAIN_SECONDS: variable(whole(0, 3600), '10', 'Seconds that calls under way are given to finish when the service is stopped.'),
  BERTH_LOG_LEVEL: variable(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'Least severe log lines to write, to standard error.',
  ),
} satisfies Record<`BERTH_${string}`, Variable>;

type Variables = typeof variables;
type ValueOf<V> = V extends { schema: infer S extends z.ZodType; default: infer D } ? z.output<S> | (D extends null ? null : never) : never;
/** `BERTH_DATA_DIR` is `dataDir`. */
type FieldName<K extends string> = K extends `BERTH_${infer Rest}` ? CamelCase<Lowercase<Rest>> : never;
type CamelCase<T extends string> = T extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : T;
export type Config = { -readonly [K in keyof Variables as FieldName<K>]: ValueOf<Variables[K]> };

/** What is wrong with the environment, one line for each variable. */
export class ConfigError extends Error {}

const fieldName = (name: string): string =>
  name
    .slice('BERTH_'.length)
    .toLowerCase()
    .replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Throws ConfigError naming every variable that is wrong or unknown. An empty variable counts as unset. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const faults: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, { schema, default: fallback, sentence }] of Object.entries(variables)) {
    const text = environment[name] || fallback;
    const parsed = text === null ? { success: true as const, data: null } : schema.safeParse(text);
    if (parsed.success) config[fieldName(name)] = parsed.data;
    else faults.push(`${name}: ${parsed.error.issues.map((issue) => issue.message).join('; ')}. ${sentence}`);
  }
  for (const name of Object.keys(environment))
    if (name.startsWith('BERTH_') && environment[name] && !(name in variables))
      faults.push(`${name}: there is no such variable. Known: ${Object.keys(variables).join(', ')}`);
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return config as Config;
}

/** The configuration table of the README. */
export function configTable(): string {
  const rows = Object.entries(variables).map(
    ([name, { default: fallback, sentence }]) => `| \`${name}\` | ${fallback ? `\`${fallback}\`` : ''} | ${sentence} |`,
  );
  return ['| Variable | Default | |', '|---|---|---|', ...rows].join('\n');
}
