import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FetchRequest, type FetchFormat } from '@berth/contract';
import { addBody, createPageResult, parseFileName, type PageResult } from './result.ts';

function addTo(
  text: string | Buffer,
  contentType: string | null,
  { formats = ['raw'], truncated = false }: { formats?: FetchFormat[]; truncated?: boolean } = {},
): PageResult {
  const result = { ...createPageResult('http://site.test/file'), contentType };
  addBody(result, { data: Buffer.from(text), truncated }, FetchRequest.parse({ url: 'http://site.test/file', formats }));
  return result;
}

describe('a body that is not a page', () => {
  it('is returned as bytes, whatever the formats', () => {
    const result = addTo(Buffer.from([0, 255, 1]), 'application/octet-stream', { formats: ['html', 'text'] });
    assert.deepEqual(result.raw, {
      data_base64: 'AP8B',
      content_type: 'application/octet-stream',
      bytes: 3,
      filename: null,
      truncated: false,
    });
    assert.deepEqual([result.html, result.text, result.json, result.warnings], [null, null, null, []]);
  });

  it('is parsed as JSON when it is JSON, and fenced in markdown', () => {
    const result = addTo('{"a":[1]}', 'application/json; charset=utf-8', { formats: ['text', 'markdown'] });
    assert.deepEqual([result.json, result.text, result.markdown], [{ a: [1] }, '{"a":[1]}', '```json\n{"a":[1]}\n```']);
  });

  it('gets a warning when its JSON is invalid', () => {
    const result = addTo('{"a":', 'application/json');
    assert.deepEqual([result.json, result.warnings], [null, ['json_invalid']]);
  });

  it('is read in its own encoding', () => {
    const result = addTo(Buffer.from('caf\xe9', 'latin1'), 'text/plain; charset=iso-8859-1', { formats: ['text'] });
    assert.equal(result.text, 'café');
  });

  it('gets a warning when it is truncated', () => {
    const result = addTo('abc', 'text/plain', { truncated: true });
    assert.deepEqual([result.raw?.truncated, result.warnings], [true, ['body_truncated']]);
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
      assert.equal(parseFileName(header), name);
    });
});
