import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { readOrCreateSecret } from './secret-file.ts';

describe('a secret file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-secret-'));
  after(() => rmSync(folder, { recursive: true }));

  it('a secret file is made once with mode 0600, read afterwards, and leaves no draft', () => {
    const path = join(folder, 'one', 'key');
    assert.deepEqual(
      readOrCreateSecret(path, () => 'first'),
      { secret: 'first', created: true },
    );
    assert.deepEqual(
      readOrCreateSecret(path, () => 'second'),
      { secret: 'first', created: false },
    );
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(folder, 'one')), ['key']);
  });

  it('a secret file is closed to others again when its mode was widened', () => {
    const path = join(folder, 'wide');
    readOrCreateSecret(path, () => 'wide');
    chmodSync(path, 0o644);
    readOrCreateSecret(path, () => 'other');
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('a secret file is made anew where it was left empty', () => {
    const path = join(folder, 'empty');
    writeFileSync(path, '');
    assert.deepEqual(
      readOrCreateSecret(path, () => 'new'),
      { secret: 'new', created: true },
    );
  });
});
