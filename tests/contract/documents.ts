/** Reads the commands of the documentation, and runs them as a person does who pastes them into a shell. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '../..');
const guides = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));

/** The pages for readers, by their path in the repository. Decisions are history. */
export const documents: ReadonlyMap<string, string> = new Map(
  ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', 'SECURITY.md', ...guides.map((name) => `docs/${name}`)].map((file) => [
    file,
    readFileSync(join(root, file), 'utf8'),
  ]),
);
export const textOf = (file: string): string => documents.get(file) ?? assert.fail(`${file} is missing`);

export interface Example {
  /** A block of commands that sends requests. */
  commands: string;
  /** The fields that the document shows as the reply. */
  fields: string[];
}

/** The first block of JSON below a block of commands, without a heading between, shows its replies. */
export function examplesOf(file: string): Example[] {
  const examples: Example[] = [];
  let current: Example | undefined;
  for (const [, heading, language, code = ''] of textOf(file).matchAll(/^(#+ )|^```(\w+)\n([^]*?)^```/gm)) {
    if (heading) current = undefined;
    else if (language === 'sh') {
      current = /\bcurl /.test(code) ? { commands: code, fields: [] } : undefined;
      if (current) examples.push(current);
    } else if (language === 'json' && current) {
      current.fields.push(...Array.from(code.matchAll(/"(\w+)":/g), ([, name = '']) => name));
      current = undefined;
    }
  }
  return examples;
}

/** Programs of a document, in JavaScript unless another language is named. */
export const programsOf = (file: string, language = 'js'): string[] =>
  Array.from(textOf(file).matchAll(/^```(\w+)\n([^]*?)^```/gm))
    .filter(([, of]) => of === language)
    .map(([, , program = '']) => program);

export interface Target {
  /** Address of the service. */
  url: string;
  apiKey: string;
  adminKey: string;
  loginToken: string;
  /** Address, with a slash at the end, of the site that the examples open. */
  site: string;
}

/** Records what is replied and what fails. An endless stream ends by curl's own limit of time, 28. */
const recorder = `
curl() {
  command curl --fail-with-body "$@" | tee -a "$BLOCK.replies"
  local code=\${PIPESTATUS[0]}
  [ $code = 0 ] || [ $code = 28 ] || echo "curl failed with $code: $*" >>failures
}
jq() { command jq -e "$@" || echo "jq found nothing: $*" >>failures; }
`;

/** Runs examples in one shell. Returns the commands that failed and the fields that no reply had. */
export async function paste(examples: readonly Example[], { url, apiKey, adminKey, loginToken, site }: Target): Promise<string[]> {
  const cwd = mkdtempSync(join(tmpdir(), 'berth-documents-'));
  try {
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'data/api-key'), apiKey);
    writeFileSync(join(cwd, 'data/admin-key'), adminKey);
    // What `storageState` of Playwright has written elsewhere.
    writeFileSync(join(cwd, 'state.json'), '{"cookies":[],"origins":[]}');
    const script = [recorder, ...examples.map(({ commands }, block) => `BLOCK=${block}\n${commands}`)]
      .join('\n')
      .replaceAll(/https:\/\/(?:\w+\.example|example\.com)\//g, site)
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll(' -m 2 ', ' -m 1 ');
    const env = {
      PATH: process.env['PATH'],
      BERTH: url,
      BERTH_URL: url,
      BERTH_API_KEY: apiKey,
      AUTH: `Authorization: Bearer ${apiKey}`,
      ADMIN: `x-admin-key: ${adminKey}`,
      LOGIN: `Authorization: Bearer ${loginToken}`,
    };
    await promisify(execFile)('bash', ['-c', script], { cwd, env, timeout: 180_000 });
    const written = readdirSync(cwd);
    const read = (name: string): string => (written.includes(name) ? readFileSync(join(cwd, name), 'utf8') : '');
    const missing = examples.flatMap(({ fields }, block) => missingFields(fields, read(`${block}.replies`)));
    return [...read('failures').split('\n').filter(Boolean), ...missing];
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/** An empty list has no fields. */
const missingFields = (fields: readonly string[], replies: string): string[] =>
  replies.trim() === '[]' ? [] : fields.filter((name) => !replies.includes(`"${name}":`)).map((name) => `no field ${name} in ${replies}`);
