/** Programs that use types which openapi-typescript makes of the OpenAPI document, with its default options. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const documentFile = join(root, 'openapi.json');
/** The generator needs a TypeScript with an API in JavaScript, as the scripts have. */
const generator = join(dirname(createRequire(join(root, 'scripts/package.json')).resolve('openapi-typescript/package.json')), 'bin/cli.js');

interface Document {
  paths: Record<string, Record<string, { operationId: string; requestBody?: { content: Record<string, { example?: unknown }> } }>>;
}

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-openapi-types-'));
  await run(process.execPath, generator, documentFile, '-o', join(dir, 'berth.d.ts'));
});
after(() => rm(dir, { recursive: true }));

const run = (command: string, ...args: string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(command, args, { cwd: dir }, (error, stdout, stderr) =>
      error ? reject(new Error(`${stdout}${stderr}`.slice(0, 3000))) : resolve(stdout),
    );
  });

async function compile(program: string): Promise<void> {
  const file = join(dir, 'program.ts');
  await writeFile(file, `${preamble}${program}`);
  await run(join(root, 'node_modules/.bin/tsc'), '--noEmit', '--strict', '--exactOptionalPropertyTypes', '--ignoreConfig', file);
}

const preamble = `
import type { paths } from './berth';
type Method = 'get' | 'post' | 'patch' | 'delete';
type Body<P extends keyof paths, M extends Method> =
  paths[P][M] extends { requestBody?: { content: { 'application/json': infer B } } } ? B : never;
type Reply<P extends keyof paths, M extends Method, S> =
  paths[P][M] extends { responses: infer R } ? S extends keyof R ? R[S] extends { content: { 'application/json': infer B } } ? B : never : never : never;
`;

test('a program compiles that sends the example of each request body', async () => {
  const { paths } = JSON.parse(await readFile(documentFile, 'utf8')) as Document;
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, requestBody }]) => {
      const { example } = requestBody?.content['application/json'] ?? {};
      return example === undefined
        ? []
        : [`export const ${operationId}: Body<${JSON.stringify(path)}, '${method}'> = ${JSON.stringify(example)};`];
    }),
  );
  assert.ok(lines.includes(`export const createSession: Body<"/v1/session", 'post'> = {};`));
  await compile(lines.join('\n'));
});

test('a program compiles that leaves out every optional field, or sends null for it', () =>
  compile(`
export const create: Body<'/v1/session', 'post'>[] = [{}, { kind: 'full_browser' }, { kind: null, viewport: { width: 800, height: 600 } }];
export const fetches: Body<'/v1/fetch', 'post'>[] = [{ url: 'https://example.com/' }, { url: 'https://example.com/', mode: null, retry: {} }];
export const actions: Body<'/v1/session/{session_id}/actions', 'post'> = {
  actions: [
    { type: 'click', selectors: ['#buy'] },
    { type: 'navigate', url: 'https://example.com/', on_error: 'continue', tab: null },
    { type: 'for_each', selectors: ['li'], steps: [{ type: 'hover', selectors: ['a'], within: 'item' }] },
  ],
};
`));

test('a program compiles that reads replies, with null only where a field may be null', () =>
  compile(`
declare const session: Reply<'/v1/session', 'post', 201>;
export const id: string = session.session_id;
export const title: string | null = session.title;
declare const seen: Reply<'/admin/sessions', 'get', 200>;
export const owner: string | undefined = seen[0]?.owner;
export const status: string | undefined = seen[0]?.status;
declare const failure: Reply<'/v1/session', 'post', 'default'> | Reply<'/v1/session', 'post', 429>;
export const code: string = failure.error.code;
`));

test('a program does not compile that leaves out a required field, or sends one that does not exist', () =>
  compile(`
// @ts-expect-error The URL is required.
export const fetch: Body<'/v1/fetch', 'post'> = {};
// @ts-expect-error A step has a type that exists.
export const step: Body<'/v1/session/{session_id}/actions', 'post'> = { actions: [{ type: 'clik', selectors: ['#buy'] }] };
// @ts-expect-error The kind is one of two.
export const create: Body<'/v1/session', 'post'> = { kind: 'other' };
`));
