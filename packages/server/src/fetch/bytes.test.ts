import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FetchRequest, type FetchFormat } from '@berth/contract';
import { fileNameOf, takeBody } from './bytes.ts';
import { emptyFound, type Found } from './found.ts';

function taken(
  text: string | Buffer,
  contentType: string | null,
  { formats = ['raw'], truncated = false }: { formats?: FetchFormat[]; truncated?: boolean } = {},
): Found {
  const found = { ...emptyFound('http://site.test/file'), contentType };
  takeBody(found, { data: Buffer.from(text), truncated }, FetchRequest.parse({ url: 'http://site.test/file', formats }));
  return found;
}

describe('a body that is no page', () => {
  it('comes as its bytes, whatever was asked for', () => {
    const found = taken(Buffer.from([0, 255, 1]), 'application/octet-stream', { formats: ['html', 'text'] });
    assert.deepEqual(found.raw, {
      data_base64: 'AP8B',
      content_type: 'application/octet-stream',
      bytes: 3,
      filename: null,
      truncated: false,
    });
    assert.deepEqual([found.html, found.text, found.json, found.warnings], [null, null, null, []]);
  });

  it('is read as JSON where it is JSON, and told as markdown in a fence', () => {
    const found = taken('{"a":[1]}', 'application/json; charset=utf-8', { formats: ['text', 'markdown'] });
    assert.deepEqual([found.json, found.text, found.markdown], [{ a: [1] }, '{"a":[1]}', '```json\n{"a":[1]}\n```']);
  });

  it('says so where it calls itself JSON and is none', () => {
    const found = taken('{"a":', 'application/json');
    assert.deepEqual([found.json, found.warnings], [null, ['json_invalid']]);
  });

  it('is read in its own encoding', () => {
    const found = taken(Buffer.from('caf\xe9', 'latin1'), 'text/plain; charset=iso-8859-1', { formats: ['text'] });
    assert.equal(found.text, 'café');
  });

  it('says so where some of it is missing', () => {
    const found = taken('abc', 'text/plain', { truncated: true });
    assert.deepEqual([found.raw?.truncated, found.warnings], [true, ['body_truncated']]);
  });
});

describe('a file name', () => {
  const names: [string | undefined, string | null][] = [
    [undefined, null],
    ['attachment', null],
    ['attachment; filename="report.pdf"', 'report.pdf'],
    ["attachment; filename*=UTF-8''na%C3%AFve.txt", 'naïve.txt'],
    ['attachment; filename="../../etc/passwd"', 'passwd'],
    ['attachment; filename="a\tb.txt"', 'ab.txt'],
    ['=;;=', null],
  ];
  for (const [header, name] of names)
    it(`is ${name ?? 'none'} by ${JSON.stringify(header)}`, () => {
      assert.equal(fileNameOf(header), name);
    });
});
