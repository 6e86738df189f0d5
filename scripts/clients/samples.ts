/** Writes the samples of the API reference: each operation as it is called with curl, the two clients and the command line. */
import type { Model, Operation } from './document.ts';
import { argumentName, snakeCased, subjectOf } from './python.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Fields = Readonly<Record<string, Json>>;

/** What stands for the parts of paths. Ids have the form of real ones. */
const pathValues: Readonly<Record<string, string>> = {
  session_id: 'ses_3k2v9q0d7m5x1c8b4n6z2f7h',
  profile_id: 'pro_3k2v9q0d7m5x1c8b4n6z2f7h',
  tab_id: 'tab_3k2v9q0d7m5x1c8b4n6z2f7h',
  download_id: 'dl_3k2v9q0d7m5x1c8b4n6z2f7h',
  token_id: 'tok_3k2v9q0d7m5x1c8b4n6z2f7h',
  rec_id: 'rec_3k2v9q0d7m5x1c8b4n6z2f7h',
  asset_path: 'video.mp4',
  job_id: 'job_3k2v9q0d7m5x1c8b4n6z2f7h',
  name: 'screenshot.jpg',
  skill_id: 'skl_3k2v9q0d7m5x1c8b4n6z2f7h',
  key_id: 'key_3k2v9q0d7m5x1c8b4n6z2f7h',
  owner: 'local',
  worker_id: 'wrk_01m7c8z0r2x4v6b8n0m2k4j6h8',
  domain: 'example.com',
};

/** Queries that are required, or that people send. */
const queries: Readonly<Record<string, Fields>> = {
  listSessions: { status: 'ready' },
  getContent: { format: 'markdown' },
  getSnapshot: { max_tokens: 2000 },
  getJob: { wait_seconds: 25 },
  getFetchJob: { wait_seconds: 25 },
  listJobs: { kind: 'fetch' },
  getUsage: { days: 7 },
  blockHistory: { hours: 24 },
  getSiteHealth: { owner: 'local' },
  getStrategies: { owner: 'local', domain: 'example.com' },
};

/** The session of the samples, by its id, for commands that would take that of the folder. */
const inSession = `--session ${pathValues['session_id']}`;
/** Operations that have a command of their own. All others are called by their path. */
const commands: Readonly<Record<string, string>> = {
  createSession: 'berth open --new',
  endSession: `berth end ${inSession}`,
  listSessions: 'berth sessions',
  navigate: `berth open https://example.com/ ${inSession}`,
  listTabs: `berth tab ${inSession}`,
  openTab: `berth tab new https://example.com/ ${inSession}`,
  getSnapshot: `berth snapshot --max-tokens 2000 ${inSession}`,
  getContent: `berth read ${inSession}`,
  getConsole: `berth console ${inSession}`,
  getHar: `berth har traffic.har ${inSession}`,
  listDownloads: `berth downloads ${inSession}`,
  getDownload: `berth downloads ${pathValues['download_id']} report.csv ${inSession}`,
  screenshot: `berth screenshot page.png --full ${inSession}`,
  pdf: `berth pdf page.pdf ${inSession}`,
  getStorageState: `berth cookies export state.json ${inSession}`,
  createViewToken: `berth watch --control --no-open ${inSession}`,
  listRecordings: `berth record ${inSession}`,
  fetchPage: 'berth fetch https://example.com/ --format markdown metadata',
  inspect: 'berth inspect https://example.com/',
  runAgent: 'berth run extract_article url=https://example.com/',
  listTasks: 'berth run',
  getJob: `berth job ${pathValues['job_id']} --wait`,
  listJobs: 'berth jobs --kind fetch',
  cancelJob: `berth cancel ${pathValues['job_id']}`,
  getUsage: 'berth usage --days 7',
  getCredits: 'berth credits',
  listCreditEntries: 'berth credits ledger',
  redeemCredits: 'berth credits redeem CREDIT-7ZQ4N-8M2KD-R5T9V-3HWXB-6CFJP-Y',
  streamEvents: `berth logs -f ${inSession}`,
  readRecordingAsset: `berth record save video.mp4 ${inSession}`,
  health: 'berth status',
  listKeys: 'berth keys',
  createKey: "berth keys create --owner acme --name 'first key'",
  revokeKey: `berth keys revoke ${pathValues['key_id']}`,
  getPool: 'berth pool',
  resizePool: 'berth pool resize 2',
  listWorkers: 'berth workers',
  cordonWorker: `berth workers cordon ${pathValues['worker_id']}`,
  uncordonWorker: `berth workers uncordon ${pathValues['worker_id']}`,
};

/** A file that an operation returns, by the operation. */
const fileNames: Readonly<Record<string, string>> = {
  getDownload: 'report.csv',
  readRecordingAsset: 'video.mp4',
  getInspectArtifact: 'screenshot.jpg',
};

/** Where DevTools clients connect: they take an address, and no client of the API stands between. */
const sockets: Readonly<Record<string, string>> = {
  openConnect: '/v1/connect',
  openCdp: `/v1/session/${pathValues['session_id']}/cdp`,
};

export interface Sample {
  curl?: string;
  typescript?: string;
  python?: string;
  cli?: string;
}

/** Returns the file of the samples, by its path in the repository. */
export function emitSamples({ operations }: Model): Record<string, string> {
  const samples = operations.flatMap((operation) => {
    const sample = sampleOf(operation);
    return Object.keys(sample).length > 0 ? [`${JSON.stringify(operation.id)}: ${JSON.stringify(sample)}`] : [];
  });
  return { 'packages/server/src/docs/generated/samples.json': `{\n${samples.join(',\n')}\n}\n` };
}

function sampleOf(operation: Operation): Sample {
  const { id, place, reply, credential, path } = operation;
  const socket = sockets[id];
  if (socket !== undefined) return connecting(socket);
  // Links are opened in a browser, other sockets by the pages of the service, and events of payments are sent by others.
  if (credential === 'link' || reply.form === 'socket' || id === 'billingWebhook' || /\{path\}/.test(path)) return {};
  const curl = writeCurl(operation);
  if (place === null) return { curl };
  const cli = writeCommand(operation);
  return { curl, typescript: writeTypeScript(operation), python: writePython(operation), ...(cli === undefined ? {} : { cli }) };
}

const addressOf = ({ path, id }: Operation): string => {
  const query = new URLSearchParams(
    Object.entries(queries[id] ?? {}).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  ).toString();
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathValues[name] ?? missing(name));
  return query === '' ? filled : `${filled}?${query}`;
};
const missing = (name: string): never => {
  throw new Error(`samples.ts has no value for {${name}} in a path`);
};

const exampleOf = ({ body }: Operation): Fields => (body?.example ?? {}) as Fields;
const isFile = ({ id }: Operation): boolean => fileNames[id] !== undefined;

const credentialHeaders: Partial<Record<Operation['credential'], string>> = {
  key: 'Authorization: Bearer $BERTH_API_KEY',
  admin: 'x-admin-key: $BERTH_ADMIN_KEY',
  login: 'Authorization: Bearer $BERTH_LOGIN_TOKEN',
};

function writeCurl(operation: Operation): string {
  const { id, method, body, credential, reply } = operation;
  const header = credentialHeaders[credential];
  const data = body && !body.upload ? bodyText(exampleOf(operation)) : undefined;
  const lines = [
    // A stream is shown as it arrives.
    `curl ${reply.form === 'events' ? '-N ' : ''}${method === 'GET' || (method === 'POST' && body) ? '' : `-X ${method} `}"http://127.0.0.1:8080${addressOf(operation)}"`,
    ...(header === undefined ? [] : [`-H "${header}"`]),
    ...(data === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${data}'`]),
    ...(body?.upload ? ['-F file=@hello.txt'] : []),
    ...(isFile(operation) ? [`-o ${fileNames[id]}`] : []),
  ];
  return lines.join(' \\\n  ');
}

/** A body for a shell. A long one stands in lines. */
function bodyText(example: Fields): string {
  const short = JSON.stringify(example);
  const text = short.length <= 50 ? short : JSON.stringify(example, null, 2).replaceAll('\n', '\n  ');
  return text.replaceAll("'", String.raw`'\''`);
}

/** A value as a literal that both languages and people read: short ones in a line. */
function literal(value: Json, { open, name, words }: Syntax, indent = ''): string {
  if (typeof value !== 'object' || value === null) return words(value);
  const isList = Array.isArray(value);
  const parts = isList
    ? (value as readonly Json[]).map((one) => literal(one, { open, name, words }, `${indent}  `))
    : Object.entries(value).map(([key, one]) => `${name(key)}: ${literal(one, { open, name, words }, `${indent}  `)}`);
  const [begin = '', end = ''] = isList ? '[]' : open;
  const short = `${begin}${parts.join(', ')}${end}`;
  if (parts.length === 0 || (short.length <= 60 && !short.includes('\n')))
    return isList || parts.length === 0 ? short.replaceAll('  ', '') : short;
  return `${begin.trim()}\n${parts.map((part) => `${indent}  ${part},\n`).join('')}${indent}${end.trim()}`;
}

interface Syntax {
  open: readonly [string, string];
  name: (key: string) => string;
  words: (value: null | boolean | number | string) => string;
}

const quoted = (text: string): string =>
  `'${text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", String.raw`\'`)
    .replaceAll('\n', String.raw`\n`)}'`;
const typescript: Syntax = {
  open: ['{ ', ' }'],
  name: (key) => (/^[A-Za-z_]\w*$/.test(key) ? key : quoted(key)),
  words: (value) => (typeof value === 'string' ? quoted(value) : String(value)),
};
const pythonWords: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
const python: Syntax = {
  open: ['{', '}'],
  name: (key) => JSON.stringify(key),
  words: (value) => (typeof value === 'string' ? JSON.stringify(value) : (pythonWords[String(value)] ?? String(value))),
};

/** Calls that take what they are about without its name, and what else there is behind it. */
const positional: Readonly<Record<string, readonly string[]>> = { fetchPage: ['url'], inspect: ['url'], runAgent: ['task', 'inputs'] };

function writeTypeScript(operation: Operation): string {
  const { id, place, reply, pagedItems, credential, pathFields } = operation;
  const fields: Fields = { ...queries[id], ...exampleOf(operation) };
  const leading = (positional[id] ?? []).map((name) => literal(fields[name] ?? null, typescript));
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !(positional[id] ?? []).includes(name)));
  const args = [
    ...pathFields.map(({ name }) => quoted(pathValues[name] ?? missing(name))),
    ...leading,
    ...(Object.keys(rest).length > 0 ? [literal(rest, typescript)] : []),
  ];
  const call = `berth.${(place ?? []).join('.')}(${args.join(', ')})`;
  const options = credential === 'login' ? '{ apiKey: process.env.BERTH_LOGIN_TOKEN }' : '';
  const start = [
    ...(isFile(operation) ? ["import { writeFile } from 'node:fs/promises';"] : []),
    "import { Berth } from '@berth/sdk';",
    '',
    `const berth = new Berth(${options});`,
  ];
  const lines = pagedItems
    ? [`for await (const item of ${call}) console.log(item);`]
    : reply.form === 'events'
      ? [`for await (const event of ${call}) console.log(event.type, event.data);`]
      : reply.form === 'empty'
        ? [`await ${call};`]
        : isFile(operation)
          ? [`const file = await ${call};`, `await writeFile('${fileNames[id]}', Buffer.from(await file.arrayBuffer()));`]
          : id === 'createSession'
            ? [`const session = await ${call};`, 'console.log(session.id);']
            : [`const reply = await ${call};`, 'console.log(reply);'];
  return [...start, ...lines].join('\n');
}

function writePython(operation: Operation): string {
  const { id, place, reply, body, pagedItems, credential, pathFields } = operation;
  const fields: Fields = { ...queries[id], ...exampleOf(operation) };
  const subject = subjectOf(operation)?.name;
  const named = Object.entries(fields).filter(([name]) => name !== subject);
  const args = [
    ...pathFields.map(({ name }) => JSON.stringify(pathValues[name] ?? missing(name))),
    ...(subject !== undefined && fields[subject] !== undefined ? [literal(fields[subject], python)] : []),
    ...(body?.upload ? ['b"hello"', 'name="hello.txt"'] : named.map(([name, value]) => `${argumentName(name)}=${literal(value, python)}`)),
    ...(reply.form === 'events' ? ['last_event_id=0'] : []),
  ];
  const call = `berth.${(place ?? []).map(snakeCased).join('.')}(${args.join(', ')})`;
  const client = credential === 'login' ? 'Berth(os.environ["BERTH_LOGIN_TOKEN"])' : 'Berth()';
  const lines = pagedItems
    ? [`for item in ${call}:`, '    print(item)']
    : reply.form === 'events'
      ? [`with ${call} as events:`, '    for event in events:', '        print(event.type, event.data)']
      : reply.form === 'empty'
        ? [call]
        : isFile(operation)
          ? [`with ${call} as file:`, `    file.save("${fileNames[id]}")`]
          : id === 'createSession'
            ? [`session = ${call}`, 'print(session.id)']
            : [`print(${call})`];
  return [
    ...(credential === 'login' ? ['import os', ''] : []),
    'from berth import Berth',
    '',
    `with ${client} as berth:`,
    ...lines.flatMap((line) => line.split('\n')).map((line) => `    ${line}`),
  ].join('\n');
}

/** Undefined where there is no command, and what comes back is not JSON. */
function writeCommand(operation: Operation): string | undefined {
  const { id, method, credential, body, reply } = operation;
  const command = commands[id];
  if (command !== undefined) return command;
  if (reply.form !== 'json' && reply.form !== 'empty') return undefined;
  const data = body ? ` --data '${JSON.stringify(exampleOf(operation)).replaceAll("'", String.raw`'\''`)}'` : '';
  const login = credential === 'login' ? 'BERTH_API_KEY=$BERTH_LOGIN_TOKEN ' : '';
  return `${login}berth api ${method} '${addressOf(operation)}'${data}${credential === 'admin' ? ' --admin' : ''}`;
}

function connecting(path: string): Sample {
  const address = `ws://127.0.0.1:8080${path}`;
  return {
    typescript: [
      "import { chromium } from 'playwright-core';",
      '',
      `const browser = await chromium.connectOverCDP('${address}', {`,
      '  headers: { Authorization: `Bearer ${process.env.BERTH_API_KEY}` },',
      '});',
      'console.log(browser.contexts()[0]?.pages().length);',
      'await browser.close();',
    ].join('\n'),
    python: [
      'import os',
      '',
      'from playwright.sync_api import sync_playwright',
      '',
      'with sync_playwright() as playwright:',
      `    key = os.environ["BERTH_API_KEY"]`,
      `    browser = playwright.chromium.connect_over_cdp("${address}", headers={"Authorization": f"Bearer {key}"})`,
      '    print(len(browser.contexts[0].pages))',
      '    browser.close()',
    ].join('\n'),
  };
}
