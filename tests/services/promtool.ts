/** Debian's promtool, which set-up fetches for the tests. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';

const fetched = resolve(import.meta.dirname, '../../node_modules/.berth-promtool');

function find(): string {
  try {
    accessSync(fetched, constants.X_OK);
    return fetched;
  } catch {
    return 'promtool';
  }
}

/** @throws AssertionError with what promtool says where it finds fault, or is not installed */
export function promtool(args: readonly string[], input?: string): string {
  const { status, stdout, stderr, error } = spawnSync(find(), [...args], { encoding: 'utf8', ...(input === undefined ? {} : { input }) });
  assert.ok(!error, `promtool does not start; sh scripts/setup.sh tests fetches it: ${error?.message}`);
  assert.equal(status, 0, `promtool ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout + stderr;
}
