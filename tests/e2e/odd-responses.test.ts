import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage } from '@berth/contract';
import type { Client } from '../harness.ts';
import { oddBodies, oddHeads, type OddResponse } from './odd-responses.ts';
import { Service } from './service.ts';

const table: readonly OddResponse[] = [...oddHeads, ...oddBodies];

/** Answers `/3` with the third of the table, and ends the connection. */
const site = createServer((socket: Socket) => {
  socket
    .on('error', () => {})
    .once('data', (request) => {
      const [, index] = /^GET \/(\d+) /.exec(request.toString('latin1')) ?? [];
      const answer = table[Number(index)]?.raw ?? 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
      socket.end(Buffer.from(answer, 'latin1'));
    });
});

describe('an odd response', () => {
  let service: Service;
  let client: Client;
  let url = '';
  let session_id = '';
  before(async () => {
    await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
    const { port } = site.address() as AddressInfo;
    url = `http://127.0.0.1:${port}`;
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `127.0.0.1:${port}` } });
    client = service.client;
    ({ session_id } = (await client.call(createSession, { body: {} })).body);
  });
  after(async () => {
    await client.call(endSession, { params: { session_id } });
    await service.close();
    site.close();
  });

  /** What a caller learns of it. */
  const outcome = async (index: number, options: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const reply = await client.call(fetchPage, {
      body: { url: `${url}/${index}`, formats: ['text'], retry: { max_attempts: 1 }, ...options },
    });
    assert.equal(reply.status, 200, reply.text);
    const { status_code, text, error, warnings } = reply.body;
    return { status: status_code, text: text?.trim() || null, netError: error?.details?.['net_error'], warnings };
  };

  for (const [
    index,
    { name, status, text, textOfBrowser = text, netError, warnings = [], warningsOfBrowser = warnings },
  ] of table.entries())
    it(`an odd response with ${name} is the same in every mode`, async () => {
      const plain = { status, text, netError, warnings };
      for (const options of [{ mode: 'http' }, { mode: 'auto' }]) assert.deepEqual(await outcome(index, options), plain, options.mode);
      const browser = { ...plain, text: textOfBrowser, warnings: warningsOfBrowser };
      for (const options of [{ mode: 'browser' }, { session_id }])
        assert.deepEqual(await outcome(index, options), browser, JSON.stringify(options));
    });
});
