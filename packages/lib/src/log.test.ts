import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { createLog, readableLines } from './log.ts';

function collect(): { destination: Writable; lines: () => Record<string, unknown>[] } {
  let text = '';
  const destination = new Writable({ write: (chunk, _encoding, done) => ((text += String(chunk)), done()) });
  return {
    destination,
    lines: () =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

describe('the log', () => {
  it('the log is one JSON object a line, without secrets', () => {
    const { destination, lines } = collect();
    createLog('info', { destination }).info({ owner: 'acme', token: 'hush' }, 'session created');
    const [line] = lines();
    assert.deepEqual([line?.['level'], line?.['msg'], line?.['owner'], line?.['token']], ['info', 'session created', 'acme', '[secret]']);
  });

  it('the log has no stack for an error with a code, and one for an unexpected error', () => {
    const { destination, lines } = collect();
    const log = createLog('info', { destination });
    const cause = new Error('net::ERR_NAME_NOT_RESOLVED');
    log.warn({ err: new ServiceError('navigation_failed', 'The page could not be loaded.', { cause }) }, 'request failed');
    log.error({ err: new TypeError('x is undefined') }, 'request failed unexpectedly');
    const [expected, fault] = lines();
    assert.deepEqual(expected?.['err'], {
      code: 'navigation_failed',
      message: 'The page could not be loaded.',
      cause: 'net::ERR_NAME_NOT_RESOLVED',
    });
    assert.match((fault?.['err'] as { stack: string } | undefined)?.stack ?? '', /TypeError: x is undefined\n\s+at /);
  });

  it('the log is readable on a terminal: time, level, message and the other fields in one line', async () => {
    let text = '';
    const destination = await readableLines((part) => (text += part));
    const log = createLog('info', { destination });
    log.info({ port: 8080, password: 'hush' }, 'port bound');
    log.warn({}, 'second');
    const [first = '', second = '', ...rest] = text.split('\n');
    assert.match(first, /^\[\d\d:\d\d:\d\d\] INFO: port bound .*"?port"?: ?8080/);
    assert.match(second, /^\[\d\d:\d\d:\d\d\] WARN: second\s*$/);
    assert.deepEqual(rest, ['']);
    assert.doesNotMatch(text, /hush|\{"level"/);
  });
});
