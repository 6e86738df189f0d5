/** What can be set in the environment: a schema and a description for each variable. docs/configuration.md is made from it. */
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { withoutTrailing } from '@berth/lib/text/urls.ts';
import { loginAlgorithms } from './accounts/login/login.ts';

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, `must be an integer from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.number(`must be an integer from ${min} to ${max}`).min(min).max(max));
const path = z
  .string()
  .min(1)
  .transform((text) => (isAbsolute(text) ? text : resolve(text)));
/** Who pastes the key itself must not find it in a message about a path. */
const pemPath = z
  .string()
  .refine((text) => !text.includes('-----BEGIN'), { error: 'must be the path of a PEM file, not its content', abort: true })
  .pipe(path);
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean),
);

/** Address as other programs write it: an IPv6 address is in brackets. */
const hostAndPort = z.string().regex(/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, 'must be HOST:PORT');

const flag = z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1');

/** A text that is no URL gets no further checks, which would parse it. */
const webUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL', abort: true });
const webUrlWithoutCredentials = webUrl.refine(
  (text) => new URL(text).username === '' && new URL(text).password === '',
  'must not contain credentials',
);
const secret = z.string().min(32, 'must have at least 32 characters');
/** A short one may be used as long as nobody else reaches the service, see exposure.ts. */
const operatorSecret = z.string().min(8, 'must have at least 8 characters');
/** Sent in a header as it is. */
const visibleAscii = z.string().regex(/^[\x21-\x7e]+$/, 'must be visible ASCII without spaces');

const algorithms = list.pipe(
  z.array(z.enum(loginAlgorithms, { error: `must be out of ${loginAlgorithms.join(', ')}` })).min(1, 'must name at least one algorithm'),
);

export interface Variable {
  schema: z.ZodType;
  /** Default as text, as it would stand in the environment; null: the description says what applies. */
  default: string | null;
  /** Markdown: full sentences, with the unit. */
  description: string;
  /** Whether the value is never shown. */
  isSecret: boolean;
}
const variable = <S extends z.ZodType, D extends string | null>(schema: S, fallback: D, description: string) => ({
  schema,
  default: fallback,
  description,
  isSecret: false,
});
const secretVariable = <S extends z.ZodType>(schema: S, description: string) => ({
  ...variable(schema, null, description),
  isSecret: true,
});

const server = {
  BERTH_HOST: variable(z.string().min(1), '127.0.0.1', 'Address to listen on.'),
  BERTH_PORT: variable(integer(0, 65_535), '8080', 'TCP port to listen on. `0` picks a free port and prints it at start.'),
  BERTH_TLS_CERT: variable(
    pemPath,
    null,
    'PEM file with the certificate of the service, followed by those that lead to its authority. With it the port speaks TLS alone. ' +
      'Read again within ten seconds of a change. Default: plain HTTP.',
  ),
  BERTH_TLS_KEY: variable(pemPath, null, 'PEM file with the key of that certificate. Required with it.'),
  BERTH_PUBLIC_URL: variable(
    webUrl.transform((text) => withoutTrailing(text, '/')),
    null,
    'URL at which clients reach the service, used for links in responses. Default: the URL of each request.',
  ),
  BERTH_TRUSTED_PROXIES: variable(
    list,
    '',
    'Comma-separated IP addresses and CIDR ranges of reverse proxies. Their `X-Forwarded-*` headers are trusted.',
  ),
};

const fleet = {
  BERTH_FLEET_LISTEN: variable(
    hostAndPort,
    null,
    'Address and port of the listener for other workers, such as `10.0.0.5:8081`. Port `0` picks a free one. With it, workers of one ' +
      'database (`BERTH_DATABASE_URL`) pass requests to the worker that can answer them. Default: no such listener.',
  ),
  BERTH_FLEET_ADDRESS: variable(
    hostAndPort,
    null,
    'Address and port at which other workers reach that listener. Default: those of `BERTH_FLEET_LISTEN`. Required where it listens ' +
      'on all addresses.',
  ),
  BERTH_FLEET_CERT_FILE: variable(
    path,
    null,
    'PEM file with this worker’s certificate for connections between workers. It names the worker’s id (`worker-id` in the data ' +
      'directory) as the URI `urn:berth:worker:ID` or as a DNS name. Read again every five minutes. Default: a certificate of the ' +
      'fleet’s own authority, which is in the database.',
  ),
  BERTH_FLEET_KEY_FILE: variable(path, null, 'PEM file with the key of that certificate. Required with it.'),
  BERTH_FLEET_CA_FILE: variable(
    path,
    null,
    'PEM file with the certificates of the authorities that sign workers’ certificates. Required with it.',
  ),
};

const storage = {
  BERTH_DATA_DIR: variable(
    path,
    './data',
    'Directory for all persistent data: the embedded database, keys, machine images and recordings.',
  ),
  BERTH_DATABASE_URL: variable(
    z.url({ protocol: /^postgres(ql)?$/ }),
    null,
    'URL of a PostgreSQL server. Default: an embedded PostgreSQL server in the data directory.',
  ),
  BERTH_DATABASE_DIRECT_URL: variable(
    z.url({ protocol: /^postgres(ql)?$/ }),
    null,
    'URL of the same PostgreSQL server without a pooler, where `BERTH_DATABASE_URL` is that of PgBouncer in transaction mode. Heartbeats, locks, migrations and notifications go there; nothing else relies on the state of a connection.',
  ),
  BERTH_LEASE_SECONDS: variable(
    integer(2, 600),
    null,
    'How long a worker may be silent before another worker takes its lease and ends its sessions, in seconds. A worker that cannot reach the database for 13/16 of it while another worker can, or while another cannot be asked, ends its own browsers first. Default: 8; 40 with the embedded database, whose worker nobody waits for.',
  ),
};

/** A path in a bucket, which ends with a slash or is empty. */
const keyPrefix = z
  .string()
  .regex(/^[\w-][\w.-]*(\/[\w-][\w.-]*)*\/?$/, 'must be letters, digits, `.`, `_`, `-` and single slashes, not at the start')
  .transform((text) => `${withoutTrailing(text, '/')}/`);

const objects = {
  BERTH_OBJECTS_BUCKET: variable(
    z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket'),
    null,
    'Bucket of an object storage with the S3 protocol, to which finished recordings are moved, so that every worker serves ' +
      'them, and where large results of jobs are stored. Default: files stay in the data directory of their worker.',
  ),
  BERTH_OBJECTS_DIR: variable(
    path,
    null,
    'Directory that is used in place of a bucket: the same one for all workers, such as a network file system.',
  ),
  BERTH_OBJECTS_ENDPOINT: variable(
    webUrlWithoutCredentials,
    null,
    'URL of the object storage, without the bucket. Default: that of AWS in the region.',
  ),
  BERTH_OBJECTS_REGION: variable(z.string().regex(/^[\w-]{1,64}$/, 'must be the name of a region'), 'us-east-1', 'Region of the bucket.'),
  BERTH_OBJECTS_PREFIX: variable(keyPrefix, null, 'Path in the bucket under which all objects are stored. Default: its root.'),
  BERTH_OBJECTS_PATH_STYLE: variable(
    flag,
    null,
    'Whether requests name the bucket in their path and not in the host. Default: `true` with `BERTH_OBJECTS_ENDPOINT`, otherwise `false`.',
  ),
  BERTH_OBJECTS_ACCESS_KEY_ID: secretVariable(
    visibleAscii,
    'Access key of the bucket. Default: what the AWS SDK finds, such as the role of the instance or pod.',
  ),
  BERTH_OBJECTS_SECRET_ACCESS_KEY: secretVariable(visibleAscii, 'Secret of the access key. Required with `BERTH_OBJECTS_ACCESS_KEY_ID`.'),
  BERTH_OBJECTS_CREDENTIALS_FILE: variable(
    path,
    null,
    'Path of a credentials file as AWS has it, whose profile `default` is used in place of the access key. It is read again every 15 minutes.',
  ),
};

const disk = {
  BERTH_DISK_FREE_MB_MIN: variable(
    integer(0, 1_000_000),
    '1024',
    'Free disk space, of the data directory and of the embedded database, that is left to the database, in megabytes. Below it ' +
      'new sessions and jobs are refused, and downloads, uploads and recordings end.',
  ),
  BERTH_DISK_RESERVE_MB: variable(
    integer(0, 100_000),
    '128',
    'Size of a file beside the embedded database that is deleted when the disk is full, so that the database can still write, ' +
      'in megabytes. `0`: no such file.',
  ),
  BERTH_DISK_OWNER_MB_MAX: variable(
    integer(1, 100_000_000),
    '10240',
    'Disk space for one owner’s downloads, uploads, recordings and stored replies on this worker, in megabytes. An owner never ' +
      'gets more than half of what all owners can have.',
  ),
  BERTH_DOWNLOADS_MB_MAX: variable(
    integer(1, 1_000_000),
    '1024',
    'Maximum size of the downloads of a session together, in megabytes. A download that exceeds it ends as `too_large`.',
  ),
};

const access = {
  BERTH_ADMIN_KEY: secretVariable(
    operatorSecret,
    'Key for the admin endpoints: any text of at least 32 characters, or of 8 while only this host can reach the service, such as the ' +
      'output of `openssl rand -hex 32`. Default: generated at the first start and stored in `admin-key` in the data directory.',
  ),
  BERTH_BOOTSTRAP_API_KEY: secretVariable(
    z.string(),
    'API key of the owner `local`: `brt_live_`, 43 letters and digits, and a checksum of 6. `npm run -s api-key` prints a new one. ' +
      'Default: generated at the first start and stored in `api-key` in the data directory.',
  ),
  BERTH_AUTH_FAILURES_PER_MINUTE_MAX: variable(
    integer(1, 1_000_000),
    '3000',
    'Requests with a missing or invalid credential that one client address may send per minute. Further ones are ' +
      'answered with 429; requests with a valid key still pass.',
  ),
  BERTH_DEV_IDP: variable(
    flag,
    'false',
    'Enables the development sign-in, which accepts any name without a password. It is served on loopback addresses only.',
  ),
  BERTH_OIDC_ISSUER: variable(webUrl, null, 'Issuer of login tokens, exactly as in their `iss` claim. Default: sign-in is off.'),
  BERTH_OIDC_AUDIENCE: variable(
    z.string().min(1),
    null,
    'Audience that login tokens must name in their `aud` claim. Required with `BERTH_OIDC_ISSUER`.',
  ),
  BERTH_OIDC_JWKS_URL: variable(
    webUrl,
    null,
    'URL of the issuer’s signing keys (JWKS). Default: read from the issuer’s discovery document.',
  ),
  BERTH_OIDC_ORG_CLAIM: variable(
    z.string().min(1),
    'org_id',
    'Claim of a login token that names the organisation on whose behalf the user acts.',
  ),
  BERTH_OIDC_ALGORITHMS: variable(
    algorithms,
    'RS256,ES256,EdDSA',
    'Comma-separated signature algorithms accepted for login tokens, out of `RS256`, `PS256`, `ES256` and `EdDSA`.',
  ),
};

const machines = {
  BERTH_RUNTIME: variable(
    z.enum(['auto', 'process', 'qemu']),
    'auto',
    'How browsers are isolated. `process`: Linux namespaces on this host. `qemu`: a virtual machine for each ' +
      'session, emulated where KVM does not work. `auto`: `qemu` where KVM works and the image is built, otherwise ' +
      '`process`.',
  ),
  BERTH_IMAGES_DIR: variable(path, null, 'Directory of the virtual machine images. Default: `images` in the data directory.'),
  BERTH_QEMU: variable(path, '/usr/bin/qemu-system-x86_64', 'Path of the QEMU executable.'),
  BERTH_VM_MEMORY_MB: variable(integer(512, 65_536), '1024', 'Memory of a virtual machine, in megabytes.'),
  BERTH_VM_CPUS: variable(integer(1, 16), '1', 'Number of virtual CPUs of a virtual machine.'),
  BERTH_CHROMIUM: variable(
    path,
    '/usr/lib/chromium/chromium',
    'Path of the Chromium executable. Where it is not set, the first of these is used: the Chromium of Debian or Fedora, ' +
      '`/opt/google/chrome/chrome`, one in `browsers` in the data directory, that of Playwright.',
  ),
  BERTH_BROWSER_MEMORY_MB_MAX: variable(
    integer(256, 1_000_000),
    '2048',
    'Memory of a browser that runs as a process, with all its pages, in megabytes. A session whose browser needs more ends with ' +
      '`out_of_memory`; with control groups of version 1 only its largest page is lost. Applies where the host has control groups.',
  ),
  BERTH_FETCH_CHROMIUM: variable(
    path,
    '/usr/lib/chromium/chromium-headless-shell',
    'Path of the Chromium headless shell that runs fetches. Where it is not set, it is looked for in the same order. If there is none, `BERTH_CHROMIUM` is used.',
  ),
  BERTH_ALLOW_UNJAILED: variable(
    flag,
    'false',
    'Starts the service although browsers run without a jail and others can reach it. A page that escapes the browser’s own ' +
      'sandbox then reads what the service can read.',
  ),
  BERTH_ALLOW_EVALUATE: variable(flag, 'false', 'Allows steps that run a client’s own JavaScript in a page.'),
};

const limits = {
  BERTH_POOL_TARGET: variable(
    integer(0, 1000),
    '2',
    'Number of warm machines in the region, shared by its workers. `POST /admin/pool` overrides it.',
  ),
  BERTH_MAX_SESSIONS: variable(integer(1, 10_000), '20', 'Maximum number of live sessions on this worker, across all owners.'),
  BERTH_MEMORY_FREE_MB_MIN: variable(
    integer(0, 1_000_000),
    '512',
    'Memory that must remain available on the host after a machine has started, in megabytes. No machine is started below it.',
  ),
  BERTH_TABS_MAX: variable(integer(1, 100), '10', 'Maximum number of tabs in a session, unless the plan sets its own.'),
  BERTH_TABS_FULL_BROWSER_MAX: variable(
    integer(1, 100),
    '16',
    'Maximum number of tabs in a `full_browser` session, unless the plan sets its own.',
  ),
  BERTH_SESSION_RETENTION_HOURS: variable(integer(1, 8760), '24', 'Time for which an ended session can still be read, in hours.'),
  BERTH_REGION: variable(
    z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
    'local',
    'Region of this worker, from which traffic leaves directly: lower-case letters, digits and hyphens.',
  ),
  BERTH_REGIONS_FILE: variable(path, null, 'Path of a JSON file with the regions and their proxies. Default: one region without proxies.'),
};

const egress = {
  BERTH_EGRESS_ALLOW: variable(
    z.string(),
    '',
    'Networks, `address:port` and `name:port`, separated by commas, that browsers may reach although they are not public.',
  ),
  BERTH_DNS_SERVERS: variable(
    z.string(),
    '',
    'DNS servers for the names that pages and callers ask for, as `address` or `address:port`, separated by commas. ' +
      'Without them those of `/etc/resolv.conf` are asked. Names of `/etc/hosts` need none.',
  ),
  BERTH_AD_HOSTS_FILE: variable(path, null, 'Path of a hosts file whose names `block_ads` blocks in addition to the built-in list.'),
};

const work = {
  BERTH_FETCH_PAGES_MAX: variable(integer(1, 64), '4', 'Maximum number of pages that one fetch machine loads at the same time.'),
  BERTH_FETCH_MACHINES_MAX: variable(integer(1, 64), '1', 'Maximum number of fetch machines for one owner and one egress configuration.'),
  BERTH_JOBS_RUNNING_MAX: variable(integer(1, 1000), '8', 'Maximum number of jobs that run on this worker at the same time.'),
  BERTH_JOBS_QUEUED_MAX: variable(integer(1, 100_000), '500', 'Maximum number of jobs in the queue of this worker.'),
};

const captcha = {
  BERTH_CAPTCHA_HTTP_URL: variable(
    webUrlWithoutCredentials,
    null,
    'URL of your own captcha solver, http or https, without credentials. Default: no solver is called.',
  ),
  BERTH_CAPTCHA_HTTP_SECRET: secretVariable(
    secret,
    'Secret that signs the requests to the captcha solver, at least 32 characters. Required with `BERTH_CAPTCHA_HTTP_URL`.',
  ),
  BERTH_CAPTCHA_HUMAN: variable(flag, 'false', 'Allows a captcha to wait for a person who solves it in the live view.'),
  BERTH_CAPTCHA_TIMEOUT_SECONDS: variable(integer(5, 600), '120', 'Time after which an unsolved captcha fails, in seconds.'),
};

const languageModel = {
  BERTH_LLM_URL: variable(
    webUrlWithoutCredentials.transform((text) => withoutTrailing(text, '/')),
    null,
    'URL of an OpenAI-compatible endpoint, without `/chat/completions`, for the flow `llm_task`. Default: there is no such flow.',
  ),
  BERTH_LLM_MODEL: variable(z.string().min(1).max(200), null, 'Name of the model at `BERTH_LLM_URL`. Required with it.'),
  BERTH_LLM_API_KEY: secretVariable(visibleAscii, 'Key that is sent to `BERTH_LLM_URL` as a bearer token. Default: none.'),
};

const recordings = {
  BERTH_FFMPEG: variable(
    path,
    '/usr/bin/ffmpeg',
    'Path of the ffmpeg executable that encodes recordings. If it is not installed, recordings hold single frames.',
  ),
  BERTH_RECORDING_MB_MAX: variable(
    integer(1, 1_000_000),
    '1024',
    'Maximum size of a recording, in megabytes. Recording stops there and is marked as truncated.',
  ),
  BERTH_RECORDING_FREE_MB_MIN: variable(integer(0, 1_000_000), '512', 'Free disk space below which recordings stop, in megabytes.'),
};

const billing = {
  BERTH_TIERS_FILE: variable(path, null, 'Path of a JSON file with the plans. Default: the built-in plans.'),
  BERTH_PRICES_FILE: variable(
    path,
    null,
    'Path of a JSON file with what machines, traffic and captchas cost and what plans and credits are sold for, for ' +
      '`GET /admin/economics`. Default: all prices are 0.',
  ),
  BERTH_CREDITS_ENFORCED: variable(flag, 'false', 'Refuses calls of owners whose wallet is empty.'),
  BERTH_STRIPE_SECRET_KEY: secretVariable(visibleAscii, 'Secret key of the Stripe account. Default: plans cannot be bought.'),
  BERTH_STRIPE_WEBHOOK_SECRET: secretVariable(visibleAscii, 'Signing secret of the Stripe webhook endpoint.'),
  BERTH_STRIPE_API_URL: variable(webUrl, null, 'URL of the Stripe API, for a proxy or a mock. Default: Stripe’s own.'),
  BERTH_ALLOW_UNSIGNED_WEBHOOKS: variable(
    flag,
    'false',
    'Accepts unsigned billing events although others can reach the service. Anyone who can send a request can then ' +
      'assign any plan to any owner.',
  ),
};

const operations = {
  BERTH_METRICS_TOKEN: secretVariable(
    operatorSecret.pipe(visibleAscii),
    'Bearer token for `/metrics`: visible ASCII without spaces, at least 32 characters, or 8 while only this host can reach the ' +
      'service. Default: the admin key is required.',
  ),
  BERTH_DRAIN_SECONDS: variable(integer(0, 3600), '10', 'Time that running calls have to finish when the service stops, in seconds.'),
  BERTH_LOG_LEVEL: variable(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'Lowest severity of the log lines that are written to standard error: `debug`, `info`, `warn`, `error` or `silent`.',
  ),
};

const shareOfOne = z
  .string()
  .regex(/^(0|1|0?\.\d{1,6}|1\.0{1,6})$/, 'must be a number from 0 to 1')
  .transform(Number);
/** `name=value` pairs, percent-encoded, as OpenTelemetry has them. */
const headerList = list.transform((pairs, context) => {
  const headers: Record<string, string> = {};
  for (const pair of pairs) {
    const [, name = '', value = ''] = /^([\w.-]+) *= *([\x21-\x7e]*)$/.exec(pair) ?? [];
    const decoded = decodePercent(value);
    if (name === '' || decoded === null) context.addIssue('must be `name=value` pairs, separated by commas');
    else headers[name] = decoded;
  }
  return headers;
});

function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Named by OpenTelemetry, so that an operator sets them once for all services. */
const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    webUrl,
    null,
    'URL of an OpenTelemetry collector that accepts OTLP over HTTP as JSON, without `/v1/traces`. Default: nothing is traced.',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: {
    ...variable(
      headerList,
      '',
      'Headers that are sent to the collector, such as a key: `name=value` pairs, separated by commas, values percent-encoded.',
    ),
    isSecret: true,
  },
  OTEL_SERVICE_NAME: variable(z.string().min(1).max(200), 'berth', 'Name of this service in traces.'),
  OTEL_TRACES_SAMPLER_ARG: variable(shareOfOne, '1', 'Share of the traces that are sent, from 0 to 1.'),
};

/** All variables by the headings of docs/configuration.md. */
export const variableGroups = {
  Server: server,
  Fleet: fleet,
  Storage: storage,
  'Object storage': objects,
  Disk: disk,
  'Keys and sign-in': access,
  Machines: machines,
  'Pool and limits': limits,
  Egress: egress,
  'Fetch and jobs': work,
  Captcha: captcha,
  'Language model': languageModel,
  Recordings: recordings,
  Billing: billing,
  Operations: operations,
  Tracing: tracing,
} satisfies Record<string, Record<`${'BERTH' | 'OTEL'}_${string}`, Variable>>;

/** All of them. */
export const variables = {
  ...server,
  ...fleet,
  ...storage,
  ...objects,
  ...disk,
  ...access,
  ...machines,
  ...limits,
  ...egress,
  ...work,
  ...captcha,
  ...languageModel,
  ...recordings,
  ...billing,
  ...operations,
  ...tracing,
};
