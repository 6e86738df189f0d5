import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { yardsticksOf } from '../../../../tests/yardstick.ts';
import { ReplyChunks } from './reply-chunks.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** What is written of a body that comes in these pieces. */
function rewritten(...pieces: string[]): string {
  const chunks = new ReplyChunks();
  return Buffer.concat(pieces.flatMap((piece) => chunks.rewrite(bytesOf(piece)))).toString('latin1');
}

/** The body of chunks that keep to the standard; null where they have no end. */
function read(text: string): string | null {
  let body = '';
  for (let rest = text; ;) {
    const [, digits, after] = /^([\da-f]+)\r\n([^]*)$/.exec(rest) ?? [];
    if (digits === undefined || after === undefined) return null;
    const size = Number.parseInt(digits, 16);
    if (size === 0) return after === '\r\n' ? body : null;
    body += after.slice(0, size);
    assert.equal(after.slice(size, size + 2), '\r\n');
    rest = after.slice(size + 2);
  }
}

test('chunks are written as the standard has them, wherever their bytes are cut', () => {
  const line = fc.constantFrom('\r\n', '\n');
  const chunk = fc.tuple(
    fc.string({ minLength: 1, maxLength: 20, unit: 'binary-ascii' }),
    fc.constantFrom('', ' ', '  ', ';', ';a=b', ' ; "c"'),
    line,
    line,
    fc.constantFrom('', '0', '000'),
  );
  const cuts = fc.array(fc.nat(200), { maxLength: 8 });
  fc.assert(
    fc.property(
      fc.array(chunk, { maxLength: 5 }),
      fc.array(fc.constantFrom('X: 1\n', 'odd\r\n')),
      line,
      cuts,
      (sent, trailers, end, at) => {
        const sizes = sent.map(
          ([data, tail, first, second, zeros]) => `${zeros}${data.length.toString(16)}${tail}${first}${data}${second}`,
        );
        const text = `${sizes.join('')}0${end}${trailers.join('')}${end}`;
        const places = [0, ...at.filter((place) => place < text.length).toSorted((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((place, index) => text.slice(places[index], place));
        assert.equal(read(rewritten(...pieces)), sent.map(([data]) => data).join(''), JSON.stringify(pieces));
      },
    ),
  );
});

test('chunks that browsers refuse keep what came before them, and have no end', () => {
  const refused = ['', ' 5', '5\t', '+5', '-5', '0x5', '5 5', '5\r', 'five', 'f'.repeat(17), '9'.repeat(30), `5;${'x'.repeat(16 * 1024)}`];
  for (const size of refused) {
    const text = rewritten(`4\r\nhalf\r\n${size}\r\nwords\r\n0\r\n\r\n`);
    assert.equal(text, '4\r\nhalf\r\ninvalid\r\n', JSON.stringify(size.slice(0, 20)));
  }
  assert.equal(rewritten('4\r\nhalf and more\r\n0\r\n\r\n'), '4\r\nhalf\r\ninvalid\r\n');
});

test('what is no part of the body is left out up to a megabyte, and what comes behind the body stays', () => {
  assert.equal(rewritten('4\nhalf\n0\n', 'X: 1\n', '\nHTTP/1.1'), '4\r\nhalf\r\n0\r\n\r\nHTTP/1.1');
  const extended = `1;${'x'.repeat(1000)}\r\na\r\n`;
  assert.match(rewritten(extended.repeat(1000), '0\r\n\r\n'), /a\r\n0\r\n\r\n$/);
  assert.match(rewritten(extended.repeat(1100), '0\r\n\r\n'), /^417\r\na+\r\ninvalid\r\n$/);
  assert.match(rewritten('0\r\n', 'X: y\r\n'.repeat(300_000), '\r\n'), /^invalid\r\n$/);
});

test('hostile chunks cost no more than a page of ordinary bytes', async () => {
  for (const unit of ['1\na\n', `1;${'x'.repeat(100)}\na\n`, '1            \na\n', `${'0'.repeat(1000)}1\na\n`]) {
    const bytes = bytesOf(unit.repeat(Math.floor(65_536 / unit.length)));
    const yardsticks = await yardsticksOf(() => new ReplyChunks().rewrite(bytes));
    assert.ok(yardsticks < 5, `${JSON.stringify(unit.slice(0, 20))}: ${yardsticks}`);
  }
  const slow = new ReplyChunks();
  const parts = bytesOf(`5;${'x'.repeat(16_000)}`);
  const yardsticks = await yardsticksOf(() => parts.forEach((_, at) => slow.rewrite(parts.subarray(at, at + 1))));
  assert.ok(yardsticks < 5, `byte by byte: ${yardsticks}`);
});
