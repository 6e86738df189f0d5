import assert from 'node:assert/strict';
import { duplexPair, type Duplex } from 'node:stream';
import { test } from 'node:test';
import { Qmp, QmpError } from './qmp.ts';

interface Command {
  execute: string;
  arguments: Record<string, unknown>;
  id: number;
}

/** QEMU's end of the socket: answers each command with what `answer` makes of it. */
function monitor(answer: (command: Command) => object | string | null): { qmp: Qmp; qemu: Duplex } {
  const [ours, qemu] = duplexPair();
  qemu.on('error', () => {});
  let unread = '';
  qemu.setEncoding('utf8').on('data', (text: string) => {
    const lines = (unread + text).split('\n');
    unread = lines.pop() ?? '';
    for (const line of lines) {
      const command = JSON.parse(line) as Command;
      const reply = command.execute === 'qmp_capabilities' ? { return: {}, id: command.id } : answer(command);
      if (reply !== null) qemu.write(typeof reply === 'string' ? reply : `${JSON.stringify(reply)}\n`);
    }
  });
  qemu.write('{"QMP": {"version": {}, "capabilities": []}}\n');
  return { qmp: new Qmp(ours), qemu };
}

test('QMP responses are matched by id, in any order', async () => {
  const held: object[] = [];
  const { qmp, qemu } = monitor(({ execute, id }) => (held.push({ return: execute, id }), null));
  const answers = Promise.all([qmp.call('one'), qmp.call('two')]);
  while (held.length < 2) await new Promise(setImmediate);
  for (const answer of held.toReversed()) qemu.write(`${JSON.stringify(answer)}\n`);
  assert.deepEqual(await answers, ['one', 'two']);
});

test('a QMP command is sent with its arguments, and returns its result', async () => {
  const { qmp } = monitor(({ execute, arguments: given, id }) => ({ return: { execute, given }, id }));
  assert.deepEqual(await qmp.call('migrate', { uri: 'fd:7' }), { execute: 'migrate', given: { uri: 'fd:7' } });
});

test('a refused QMP command has the error text of QEMU', async () => {
  const { qmp } = monitor(({ id }) => ({ error: { class: 'GenericError', desc: 'no such buffer' }, id }));
  await assert.rejects(qmp.call('ringbuf-read'), (error) => error instanceof QmpError && error.message === 'ringbuf-read: no such buffer');
});

test('QMP events between responses are emitted once, also to a late listener', async () => {
  const { qmp, qemu } = monitor(({ id }) => ({ return: {}, id }));
  let heard = 0;
  qmp.onEvent('SHUTDOWN', () => (heard += 1));
  for (let turn = 0; turn < 3; turn += 1) qemu.write('{"event": "SHUTDOWN", "data": {}}\n');
  await qmp.call('query-status');
  assert.equal(heard, 1);
  qmp.onEvent('SHUTDOWN', () => (heard += 1));
  assert.equal(heard, 2);
});

test('a QMP command can be aborted, and the monitor stays open', async () => {
  const { qmp } = monitor(({ execute, id }) => (execute === 'slow' ? null : { return: 'quick', id }));
  const reason = new Error('enough');
  const abort = new AbortController();
  const slow = qmp.call('slow', {}, { signal: abort.signal });
  abort.abort(reason);
  await assert.rejects(slow, reason);
  await assert.rejects(qmp.call('slow', {}, { signal: abort.signal }), reason);
  assert.equal(await qmp.call('quick'), 'quick');
});

test('pending and later QMP commands fail when QEMU has exited', async () => {
  const { qmp, qemu } = monitor(() => null);
  const waiting = qmp.call('query-status');
  qemu.destroy();
  await assert.rejects(waiting, QmpError);
  await assert.rejects(qmp.call('query-status'), QmpError);
});

test('a QMP monitor that talks nonsense, or without end, is closed', async () => {
  for (const nonsense of ['this is no JSON\n', '[1]\n', '{"id": "one"}\n', 'x'.repeat(600_000), `${'y'.repeat(600_000)}\n`]) {
    const { qmp } = monitor(() => nonsense);
    await assert.rejects(qmp.call('query-status'), QmpError);
  }
});

test('QMP answers that nobody asked for change nothing', async () => {
  const { qmp, qemu } = monitor(({ id }) => ({ return: 'mine', id }));
  qemu.write('{"return": "stray", "id": 77}\n{"return": "stray"}\n{"error": {"class": "x", "desc": "stray"}}\n');
  assert.equal(await qmp.call('query-status'), 'mine');
});
