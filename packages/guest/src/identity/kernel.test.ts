/** Runs without privileges, so that the host's kernel refuses every change. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';

const script = fileURLToPath(new URL('./kernel.pl', import.meta.url));

describe('the calls to the kernel', () => {
  it('the calls to the kernel report one by one what the kernel refuses', () => {
    const line = `${'00'.repeat(64)} 1 0\n`;
    const args = ['--reuid', '65534', '--regid', '65534', '--clear-groups', '--inh-caps=-all', '--bounding-set=-all'];
    const said = execFileSync('setpriv', [...args, '/usr/bin/perl', script, '227'], { input: line + line, encoding: 'utf8' });
    const [started, ...answers] = said.trim().split('\n');
    assert.equal(started, 'ok');
    assert.equal(answers.length, 2);
    for (const answer of answers) assert.match(answer, /not permitted|denied/);
  });
});
