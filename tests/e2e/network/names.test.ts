/** Names that a DNS server on loopback does not resolve, as callers learn of them in every mode. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createSession, endSession, ErrorBody, fetchPage, navigate } from '@berth/contract';
import { dnsServer } from '@berth/egress/testing/dns.ts';
import { inTurn } from '../../nightly.ts';
import { Service } from '../service.ts';

const notResolved = 'net::ERR_NAME_NOT_RESOLVED';
const unanswered = 'net::ERR_NAME_RESOLUTION_FAILED';
/** To ask again for a name that does not exist does not help; a server that fails or is silent may answer later. */
const names: readonly [what: string, host: string, netError: string, isRetryable: boolean][] = [
  ['that does not exist', 'no.none.test', notResolved, false],
  ['without an address', 'empty.test', notResolved, false],
  ['at which the server fails', 'a.broken.test', unanswered, true],
  ['at half of which the server fails', 'a.half.test', unanswered, true],
  ['of which the server says nothing', 'silent.test', unanswered, true],
];

test('a name that is not resolved is retryable exactly where its servers gave no answer', async (t) => {
  const site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<p>found'));
  await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
  t.after(() => site.close());
  const { port } = site.address() as AddressInfo;
  const dns = await dnsServer(t, { 'site.test': ['127.0.0.1'], 'empty.test': [] });
  const service = await Service.start({ environment: { BERTH_DNS_SERVERS: dns.address, BERTH_EGRESS_ALLOW: `127.0.0.1:${port}` } });
  const { client } = service;
  const { session_id } = (await client.call(createSession, { body: {} })).body;
  t.after(async () => {
    await client.call(endSession, { params: { session_id } });
    await service.close();
  });

  for (const [way, mode] of (['http', 'browser', 'auto'] as const).entries()) {
    await t.test(`a name that the server resolves is fetched: ${mode}`, async () => {
      const reply = await client.call(fetchPage, { body: { url: `http://site.test:${port}/`, formats: ['text'], mode } });
      assert.deepEqual([reply.body.text?.trim(), reply.body.error], ['found', null]);
    });
    for (const [row, [what, host, netError, isRetryable]] of names.entries())
      await t.test(`a fetch of a name ${what} says whether it may be repeated: ${mode}`, inTurn(row, way, 3), async () => {
        const body = { url: `http://${host}/`, formats: ['text'] as 'text'[], mode, retry: { max_attempts: 1 } };
        const { error } = (await client.call(fetchPage, { body })).body;
        const expected = ['navigation_failed', isRetryable, 'dns_failed', netError];
        assert.deepEqual([error?.code, error?.retryable, error?.details?.['reason'], error?.details?.['net_error']], expected);
      });
  }
  for (const [way, scheme] of ['http', 'https'].entries())
    for (const [row, [what, host, netError, isRetryable]] of names.entries())
      await t.test(`a navigation to a name ${what} says whether it may be repeated: ${scheme}`, inTurn(row, way, 2), async () => {
        const { details, reply } = await client.refuse(navigate, 'navigation_failed', {
          params: { session_id },
          body: { url: `${scheme}://${host}/` },
        });
        const { error } = ErrorBody.parse(reply.body);
        assert.deepEqual([details['reason'], details['net_error'], error.retryable], ['dns_failed', netError, isRetryable]);
      });
});
