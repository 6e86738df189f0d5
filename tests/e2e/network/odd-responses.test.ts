import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { inTurn } from '../../nightly.ts';
import { oddBodies, oddHeads, type OddResponse } from './odd-responses.ts';
import { Service } from '../service.ts';

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

  /** Ways in which a browser is asked. */
  const ways = ['auto', 'browser', 'session'] as const;
  for (const [index, row] of table.entries()) {
    const { name, status, text, textOfBrowser = text, netError, warnings = [], warningsOfBrowser = warnings } = row;
    const plain = { status, text, netError, warnings };
    it(`an odd response with ${name} is read as by a browser: http`, async () =>
      assert.deepEqual(await outcome(index, { mode: 'http' }), plain));
    // What a browser shows as any other page says little of what this service makes of it: every run asks it for a fourth of these.
    const isOrdinary = status === 200 && textOfBrowser !== null && warningsOfBrowser.length === 0;
    for (const [way, mode] of ways.entries())
      it(
        `an odd response with ${name} is the same in every mode: ${mode}`,
        isOrdinary ? inTurn(index, 4 * way, 12) : inTurn(index, way, 3),
        async () => {
          const browser = mode === 'auto' ? plain : { ...plain, text: textOfBrowser, warnings: warningsOfBrowser };
          assert.deepEqual(await outcome(index, mode === 'session' ? { session_id } : { mode }), browser);
        },
      );
  }
});
