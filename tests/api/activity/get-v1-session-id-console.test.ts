import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { consoleLinesMax, getConsole, navigate } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { machineOf } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
  await served.call(navigate, { params: { session_id: sessionId }, body: { url: 'http://site.test/' } });
});
after(() => served.close());

const linesOf = async (afterId?: number) =>
  (
    await served.call(getConsole, {
      params: { session_id: sessionId },
      ...(afterId === undefined ? {} : { query: { after: String(afterId) } }),
    })
  ).body;
const write = (text: string, level?: 'log' | 'warning' | 'error') => machineOf(served, sessionId).browser.write(text, level);

describe('200', () => {
  it('GET /v1/session/{session_id}/console collects the lines of all pages from the first call', async () => {
    write('before');
    assert.deepEqual(await linesOf(), []);
    await eventually('a line arrives', async () => {
      write('careful', 'warning');
      return (await linesOf()).length > 0;
    });
    const [line] = await linesOf();
    assert.deepEqual([line?.id, line?.level, line?.text, line?.url, line?.line], [1, 'warning', 'careful', 'http://site.test/', 1]);
  });

  it('GET /v1/session/{session_id}/console returns what is newer than a line, and retains the latest', async () => {
    const last = (await linesOf()).at(-1)?.id ?? assert.fail();
    for (let n = 1; n <= 2 * consoleLinesMax; n += 1) write(`line ${n}`);
    await eventually('all have arrived', async () => (await linesOf()).at(-1)?.text === `line ${2 * consoleLinesMax}`);
    const lines = await linesOf();
    assert.equal(lines.length, consoleLinesMax);
    assert.deepEqual(
      (await linesOf((lines.at(-1)?.id ?? 0) - 1)).map(({ text }) => text),
      [`line ${2 * consoleLinesMax}`],
    );
    assert.equal(lines.at(-1)?.id, last + 2 * consoleLinesMax);
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/console answers 422 for an id that is no whole number', async () => {
    const params = { session_id: sessionId };
    for (const text of ['-1', 'soon', '1.5'])
      assert.deepEqual((await served.issues(getConsole, { params, query: { after: text } }))[0]?.loc, ['query', 'after']);
  });
});
