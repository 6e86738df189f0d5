import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FetchRequest, type FetchFormat } from '@berth/contract';
import { mergeParts, parseFileName, readBody, type PageResult } from './result.ts';

async function addTo(
  text: string | Buffer,
  contentType: string | null,
  { formats = ['raw'], truncated = false }: { formats?: FetchFormat[]; truncated?: boolean } = {},
): Promise<PageResult> {
  const request = FetchRequest.parse({ url: 'http://site.test/file', formats });
  return mergeParts('http://site.test/file', [
    await readBody({ data: Buffer.from(text), truncated }, { contentType, headers: {} }, request),
  ]);
}

describe('a body that is not a page', () => {
  it('a body that is not a page is returned as bytes, whatever the formats', async () => {
    const result = await addTo(Buffer.from([0, 255, 1]), 'application/octet-stream', { formats: ['html', 'text'] });
    assert.deepEqual(result.raw, {
      data_base64: 'AP8B',
      content_type: 'application/octet-stream',
      bytes: 3,
      filename: null,
      truncated: false,
    });
    assert.deepEqual([result.html, result.text, result.json, result.warnings], [null, null, null, []]);
  });

  it('a JSON body is parsed, and fenced in markdown', async () => {
    const result = await addTo('{"a":[1]}', 'application/json; charset=utf-8', { formats: ['text', 'markdown'] });
    assert.deepEqual([result.json, result.text, result.markdown], [{ a: [1] }, '{"a":[1]}', '```json\n{"a":[1]}\n```']);
  });

  it('a body with invalid JSON gets a warning', async () => {
    const result = await addTo('{"a":', 'application/json');
    assert.deepEqual([result.json, result.warnings], [null, ['json_invalid']]);
  });

  it('a body that is not a page is read in its own encoding', async () => {
    const result = await addTo(Buffer.from('caf\xe9', 'latin1'), 'text/plain; charset=iso-8859-1', { formats: ['text'] });
    assert.equal(result.text, 'café');
  });

  it('a truncated body that is not a page gets a warning', async () => {
    const result = await addTo('abc', 'text/plain', { truncated: true });
    assert.deepEqual([result.raw?.truncated, result.warnings], [true, ['body_truncated']]);
  });

  it('a JSON body is not parsed when it would hold up the worker, or could not be written again', async () => {
    const [containers, values] = [`[${'[],'.repeat(300_000)}0]`, `[${'1,'.repeat(300_000)}0]`];
    for (const text of [containers, values, `${'['.repeat(1000)}${']'.repeat(1000)}`, `["${'a'.repeat(5_000_000)}"]`]) {
      const result = await addTo(text, 'application/json');
      assert.deepEqual([result.json, result.warnings], [null, ['json_too_large']]);
    }
    const brackets = await addTo(JSON.stringify(['['.repeat(1000), '\\"['.repeat(1000)]), 'application/json');
    assert.deepEqual(brackets.warnings, []);
    const most = await addTo(`[${'1,'.repeat(299_999)}0]`, 'application/json');
    assert.equal((most.json as number[]).length, 300_000);
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
    it(`the file name is ${name ?? 'none'} by ${JSON.stringify(header)}`, () => {
      assert.equal(parseFileName(header), name);
    });
});
