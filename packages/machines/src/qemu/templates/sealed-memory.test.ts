import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { asUser, isRoot, newUid, withoutPrivileges } from '../../host/users.ts';
import { createMemory, sealBytes } from './sealed-memory.ts';

/** Attempts of a program on memory inherited as descriptor 3; prints the result of each. */
const attempts = `
sub report { print "$_[0]: ", ($_[1] ? 'done' : $! + 0), "\\n" }
my ($mmap) = @ARGV;
open(my $inherited, '+<&=', 3) or die;
report('write', defined syswrite($inherited, 'x'));
report('shrink', truncate($inherited, 1));
report('grow', truncate($inherited, 1 << 30));
report('seal', fcntl($inherited, 1033, 0));
report('map shared', syscall($mmap, 0, 4096, 3, 1, 3, 0) != -1);
report('open', open(my $again, '+<', '/proc/self/fd/3'));
report('write again', defined syswrite($again, 'x'));
report('map private', syscall($mmap, 0, 4096, 3, 2, 3, 0) != -1);`;
const mmapNumber = { x64: 9, arm64: 222 }[process.arch as string];

const attempt = (descriptor: number, as: string[]): Record<string, string> => {
  const command = [...as, 'perl', '-e', attempts, String(mmapNumber)];
  const { stdout, stderr, status } = spawnSync(command[0] ?? '', command.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe', descriptor],
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(': ')),
  );
};

const refused = String(1); // EPERM

test('sealed memory can be mapped privately, and changed by nobody', async () => {
  const open = await createMemory(8192);
  await open.handle.write('template', 0);
  const sealed = await open.seal();
  for (const as of isRoot() ? [[], ['setpriv', ...asUser(newUid()), ...withoutPrivileges]] : [[]]) {
    assert.deepEqual(attempt(sealed.handle.fd, as), {
      write: refused,
      shrink: refused,
      grow: refused,
      seal: refused,
      'map shared': refused,
      open: 'done',
      'write again': refused,
      'map private': 'done',
    });
  }
  await assert.rejects(sealed.handle.write('x', 0), { code: 'EPERM' });
  const copy = await sealed.openAgain();
  assert.equal((await copy.readFile()).toString('utf8', 0, 8), 'template');
  await copy.close();
  await sealed.close();
});

test('memory that is not sealed yet takes pages only as it is written to', async () => {
  const memory = await createMemory(64 * 1024 ** 3);
  assert.equal((await memory.handle.stat()).blocks, 0);
  assert.deepEqual(attempt(memory.handle.fd, [])['map shared'], 'done');
  await memory.close();
});

test('each reader that opens sealed memory again reads from its start', async () => {
  const sealed = await sealBytes(Buffer.from('state'));
  for (let turn = 0; turn < 3; turn += 1) {
    const file = await sealed.openAgain();
    assert.equal((await file.readFile()).toString(), 'state');
    await file.close();
  }
  await sealed.close();
});

test('sealing memory leaves no helper process, whether it succeeds or not', async () => {
  const helpers = (): number => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).length;
  const before = helpers();
  const [one, two] = await Promise.all([createMemory(4096), createMemory(4096)]);
  assert.equal(helpers(), before + 2);
  const sealed = await one.seal();
  await two.close();
  assert.equal(helpers(), before);
  await sealed.close();
});

test('sealed memory of an impossible size is refused with a message', async () => {
  await assert.rejects(createMemory(-1), ({ cause }: Error) => /ftruncate/.test(String(cause)));
});
