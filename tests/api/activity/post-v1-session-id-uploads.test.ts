import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSession, uploadFile } from '@berth/contract';
import { Client, eventually, startApp, type TestApp } from '../../harness.ts';
import { machineOf } from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const body = { name: 'note.txt', data_base64: Buffer.from('hello').toString('base64') };

async function sendForm(
  parts: [string, File | string][],
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const form = new FormData();
  for (const [name, part] of parts) form.append(name, part);
  const response = await fetch(`${served.url}/v1/session/${sessionId}/uploads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.key}`, ...headers },
    body: form,
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('201', () => {
  it('POST /v1/session/{session_id}/uploads stores the file in the session’s machine under its name and returns its digest', async () => {
    const { body: file } = await served.call(uploadFile, { params: { session_id: sessionId }, body });
    const { file_id, created_at, ...rest } = file;
    assert.deepEqual(rest, { name: 'note.txt', bytes: 5, sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824' });
    assert.match(file_id, /^file_[0-9a-z]{24}$/);
    assert.ok(Date.parse(created_at) <= Date.now());
    assert.equal(machineOf(served, sessionId).files.uploads.get(`/uploads/${file_id}/note.txt`)?.toString(), 'hello');
  });

  it('POST /v1/session/{session_id}/uploads accepts several files with one name and counts each as an action', async () => {
    const { session_id } = await served.create();
    const one = await served.call(uploadFile, { params: { session_id }, body });
    const other = await served.call(uploadFile, { params: { session_id }, body });
    assert.notEqual(one.body.file_id, other.body.file_id);
    assert.equal((await served.call(getSession, { params: { session_id } })).body.usage.actions, 2);
  });

  it('POST /v1/session/{session_id}/uploads accepts an empty file', async () => {
    const { body: file } = await served.call(uploadFile, { params: { session_id: sessionId }, body: { name: 'empty', data_base64: '' } });
    assert.equal(file.bytes, 0);
  });

  it('POST /v1/session/{session_id}/uploads accepts a file of twelve megabytes', async () => {
    const data_base64 = Buffer.alloc(12 * 1024 * 1024, 7).toString('base64');
    const { body: file } = await served.call(uploadFile, { params: { session_id: sessionId }, body: { name: 'large.bin', data_base64 } });
    assert.equal(file.bytes, 12 * 1024 * 1024);
  });

  it('POST /v1/session/{session_id}/uploads accepts a file of twelve megabytes as a form, and refuses a larger one in bytes', async () => {
    const largest = new Uint8Array(12 * 1024 * 1024);
    assert.equal((await sendForm([['file', new File([largest], 'largest.bin')]])).status, 201);
    for (const extraBytes of [1, 5 * 1024 * 1024]) {
      const { status, body: refusal } = await sendForm([['file', new File([largest, new Uint8Array(extraBytes)], 'larger.bin')]]);
      assert.deepEqual([status, refusal['code']], [413, 'body_too_large']);
      assert.match(String(refusal['detail']), /larger than 126?\d{6} bytes/);
    }
  });

  it('POST /v1/session/{session_id}/uploads accepts the file as a form, under its own name or a given one', async () => {
    const bytes = Buffer.from([0, 1, 13, 10, 255, ...Buffer.from('\r\n--x--\r\n')]);
    const named = await sendForm([['file', new File([bytes], 'photo é.jpg')]]);
    assert.deepEqual([named.status, named.body['name'], named.body['bytes']], [201, 'photo é.jpg', bytes.length]);
    assert.deepEqual(machineOf(served, sessionId).files.uploads.get(`/uploads/${String(named.body['file_id'])}/photo é.jpg`), bytes);
    const renamed = await sendForm([
      ['name', 'other.txt'],
      ['file', new File(['text'], 'photo.jpg')],
    ]);
    assert.deepEqual([renamed.status, renamed.body['name'], renamed.body['bytes']], [201, 'other.txt', 4]);
  });

  it('POST /v1/session/{session_id}/uploads stores a form once per Idempotency-Key, whatever its boundary', async () => {
    const send = (text: string) => sendForm([['file', new File([text], 'a.txt')]], { 'idempotency-key': 'form-1' });
    const [one, other, third] = [await send('same'), await send('same'), await send('else')];
    assert.deepEqual([one.status, other.body], [201, one.body]);
    assert.equal(third.status, 409);
  });

  it('POST /v1/session/{session_id}/uploads stores the file once per Idempotency-Key', async () => {
    const { session_id } = await served.create();
    const headers = { 'idempotency-key': 'upload-1' };
    const [one, other] = [
      await served.call(uploadFile, { params: { session_id }, body, headers }),
      await served.call(uploadFile, { params: { session_id }, body, headers }),
    ];
    assert.equal(one.body.file_id, other.body.file_id);
    assert.equal(machineOf(served, session_id).files.uploads.size, 1);
  });
});

describe('409 upload_limit_reached', () => {
  it('POST /v1/session/{session_id}/uploads refuses the fifty-first file with 409 upload_limit_reached', async () => {
    const { session_id } = await served.create();
    for (let count = 0; count < 50; count += 1) await served.call(uploadFile, { params: { session_id }, body });
    const { details } = await served.refuse(uploadFile, 'upload_limit_reached', { params: { session_id }, body });
    assert.equal(details['files'], 50);
  });

  it('POST /v1/session/{session_id}/uploads refuses all but fifty of eighty files that are sent at once with 409 upload_limit_reached', async () => {
    const { session_id } = await served.create();
    const { files } = machineOf(served, session_id);
    const release = files.hold();
    const statuses: number[] = [];
    const calls = Array.from({ length: 80 }, async () => {
      statuses.push((await served.call(uploadFile, { params: { session_id }, body })).status);
    });
    await eventually('all are refused or wait', () => statuses.length + files.waiting === 80);
    release();
    await Promise.all(calls);
    assert.deepEqual([statuses.filter((status) => status === 201).length, files.uploads.size], [50, 50]);
  });

  it('POST /v1/session/{session_id}/uploads does not count files that could not be stored for 409 upload_limit_reached', async () => {
    const { session_id } = await served.create();
    const { files } = machineOf(served, session_id);
    const data_base64 = Buffer.alloc(12 * 1024 * 1024).toString('base64');
    files.isDiskFull = true;
    const client = new Client(served.url, served.key);
    for (let count = 0; count < 9; count += 1)
      assert.ok((await client.send(uploadFile, { params: { session_id }, body: { name: 'large', data_base64 } })).status >= 500);
    files.isDiskFull = false;
    assert.equal((await served.call(uploadFile, { params: { session_id }, body })).status, 201);
  });
});

describe('503 no_capacity', () => {
  it('POST /v1/session/{session_id}/uploads refuses a file for which the owner has no space left with 503 no_capacity', async () => {
    const small = await startApp({ environment: { BERTH_DISK_OWNER_MB_MAX: '1' } });
    try {
      const params = { session_id: (await small.create()).session_id };
      const large = { name: 'large', data_base64: Buffer.alloc(1024 ** 2 + 1).toString('base64') };
      const { details } = await small.refuse(uploadFile, 'no_capacity', { params, body: large });
      assert.deepEqual(details, { reason: 'disk_low' });
      assert.equal((await small.call(uploadFile, { params, body })).status, 201);
    } finally {
      await small.close();
    }
  });
});

describe('422', () => {
  it('POST /v1/session/{session_id}/uploads accepts a file name of 255 bytes', async () => {
    const name = `${'é'.repeat(127)}x`;
    assert.equal((await served.call(uploadFile, { params: { session_id: sessionId }, body: { ...body, name } })).body.name, name);
  });

  for (const name of ['../x', 'a/b', 'a\\b', '..', '.', 'a\nb', 'x'.repeat(201), 'é'.repeat(128)])
    it(`POST /v1/session/{session_id}/uploads refuses the file name ${JSON.stringify(name.slice(0, 10))} with 422`, async () => {
      const [issue] = await served.issues(uploadFile, { params: { session_id: sessionId }, body: { ...body, name } });
      assert.deepEqual(issue?.loc, ['body', 'name']);
    });

  it('POST /v1/session/{session_id}/uploads refuses a form without one file, with another field, or that is cut, with 422', async () => {
    const file = new File(['x'], 'a.txt');
    const wrong: [string, File | string][][] = [
      [],
      [['file', 'text']],
      [['data', file]],
      [
        ['file', file],
        ['file', file],
      ],
      [
        ['file', file],
        ['more', 'x'],
      ],
      [['file', new File(['x'], '../a.txt')]],
    ];
    for (const parts of wrong) assert.equal((await sendForm(parts)).status, 422, JSON.stringify(parts));
    const cut = await served.call(uploadFile, {
      params: { session_id: sessionId },
      rawBody: '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nxx',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    assert.equal(cut.status, 422);
  });

  it('POST /v1/session/{session_id}/uploads refuses invalid base64 with 422 and does not echo it', async () => {
    const issues = await served.issues(uploadFile, { params: { session_id: sessionId }, body: { name: 'a', data_base64: 'no base64!' } });
    assert.deepEqual(
      issues.map(({ loc }) => loc),
      [['body', 'data_base64']],
    );
  });
});
