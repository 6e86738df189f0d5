import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { readCommandLine, usage, UsageError } from './command-line.ts';
import { isWellFormed } from '../accounts/keys/keys.ts';

describe('the command line', () => {
  it('the command line needs no arguments', () => {
    assert.deepEqual(readCommandLine([]), { command: 'serve', help: false, port: undefined, json: false, file: '' });
  });

  it('the command line takes a port and asks for help', () => {
    for (const args of [['--port', '9090'], ['--port=9090'], ['-p', '9090']]) assert.equal(readCommandLine(args).port, '9090');
    for (const args of [['--help'], ['-h']]) assert.equal(readCommandLine(args).help, true);
  });

  it('the command line takes commands, two of them with a file', () => {
    assert.equal(readCommandLine(['doctor', '--json']).command, 'doctor');
    assert.equal(readCommandLine(['doctor', '--json']).json, true);
    assert.equal(readCommandLine(['api-key']).command, 'api-key');
    for (const command of ['backup', 'restore']) {
      const { command: read, file } = readCommandLine([command, 'a.backup']);
      assert.deepEqual([read, file], [command, 'a.backup']);
    }
  });

  it('the command line refuses what it does not know, in one line', () => {
    for (const args of [['--prot', '1'], ['serve'], ['--port'], ['backup'], ['doctor', 'x'], ['api-key', 'x'], ['restore', 'a', 'b']])
      assert.throws(
        () => readCommandLine(args),
        (error) => error instanceof UsageError && /^[^\n]+ See npm start -- --help$/.test(error.message),
        args.join(' '),
      );
  });

  it('the help of the command line fits the width of a wide terminal', () => {
    for (const word of ['--port', '--help', 'doctor', 'backup', 'restore', 'api-key', 'BERTH_DATA_DIR', 'docs/configuration.md'])
      assert.ok(usage.includes(word), word);
    for (const line of usage.split('\n')) assert.ok(line.length <= 150, line);
  });

  it('the command line prints a new API key of the form that BERTH_BOOTSTRAP_API_KEY needs', async () => {
    const print = async (): Promise<string> =>
      (await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../main.ts'), 'api-key'])).stdout;
    const [one, other] = await Promise.all([print(), print()]);
    assert.match(one, /^[^\n]+\n$/);
    assert.ok(isWellFormed(one.trim()) && isWellFormed(other.trim()));
    assert.notEqual(one, other);
  });
});
