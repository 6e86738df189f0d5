import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCommandLine, usage } from './command-line.ts';
import { ConfigError } from './config.ts';

describe('the command line', () => {
  it('needs nothing', () => {
    assert.deepEqual(readCommandLine([]), { help: false, port: undefined });
  });

  it('takes a port and asks for help', () => {
    for (const args of [['--port', '9090'], ['--port=9090'], ['-p', '9090']]) assert.equal(readCommandLine(args).port, '9090');
    for (const args of [['--help'], ['-h']]) assert.equal(readCommandLine(args).help, true);
  });

  it('refuses what it does not know, in one line', () => {
    for (const args of [['--prot', '1'], ['serve'], ['--port']])
      assert.throws(
        () => readCommandLine(args),
        (error) => error instanceof ConfigError && /^[^\n]+ See npm start -- --help$/.test(error.message),
        args.join(' '),
      );
  });

  it('explains itself within the width of a wide terminal', () => {
    for (const word of ['--port', '--help', 'BERTH_DATA_DIR', 'docs/configuration.md']) assert.ok(usage.includes(word), word);
    for (const line of usage.split('\n')) assert.ok(line.length <= 150, line);
  });
});
