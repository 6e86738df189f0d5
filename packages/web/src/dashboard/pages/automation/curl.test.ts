import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { toCurl } from './curl.ts';

/** What a shell passes to `curl`. */
const argumentsOf = (command: string): string[] =>
  execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${command}`], {
    env: { BERTH_API_KEY: 'key of the shell' },
    encoding: 'utf8',
  })
    .split('\0')
    .slice(0, -1);

test("a curl command passes the URL, the key of the shell's environment and the exact body", () => {
  const body = {
    url: `https://a.example/?q='; touch owned; '`,
    headers: { 'x-note': '$(id) `id` "quoted" \\ \n \u2028 über' },
    formats: ['text'],
  };
  const passed = argumentsOf(toCurl('https://berth.example/v1/fetch', body));
  assert.ok(passed.includes('https://berth.example/v1/fetch'));
  assert.ok(passed.includes('Authorization: Bearer key of the shell'));
  assert.deepEqual(JSON.parse(passed.at(-1) ?? ''), body);
});
