import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, runActions } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { Service } from '../service.ts';

const from = 'http://from.example/a/b?c=1';
const agent = 'Mine/1.0';

/** Says what it was asked with, and what its scripts see; `/moved` leads to it. */
const site = createServer((request, response) => {
  if (request.url === '/moved') return void response.writeHead(302, { location: '/said' }).end();
  const said = ['referer', 'user-agent', 'sec-ch-ua', 'x-own'].map((name) => `${name}=${String(request.headers[name])};`);
  const script = `<script>document.write('<p>seen ' + document.referrer + ' as ' + navigator.userAgent + '.')</script>`;
  response.writeHead(200, { 'content-type': 'text/html' }).end(`<title>Said</title><p>${said.join('<p>')}${script}`);
});

describe('headers that browsers set themselves', () => {
  let service: Service;
  let client: Client;
  let url = '';
  before(async () => {
    await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
    const { port } = site.address() as AddressInfo;
    url = `http://127.0.0.1:${port}`;
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `127.0.0.1:${port}` } });
    client = service.client;
  });
  after(async () => {
    await service.close();
    site.closeAllConnections();
    site.close();
  });

  const textOf = async (body: Record<string, unknown>): Promise<string> => {
    const reply = await client.call(fetchPage, { body: { url: `${url}/moved`, formats: ['text'], ...body } });
    assert.equal(reply.body.status, 'ok', reply.text.slice(0, 600));
    return reply.body.text ?? '';
  };

  it('headers that browsers set themselves are sent by fetches in every mode, after a redirect too, and are what scripts see', async () => {
    for (const mode of ['http', 'browser', 'auto']) {
      const text = await textOf({ mode, headers: { referer: from, 'User-Agent': agent, 'X-Own': 'yes' } });
      assert.ok(
        text.includes(`referer=${from};`) && text.includes(`user-agent=${agent};`) && text.includes('x-own=yes;'),
        `${mode}: ${text}`,
      );
      if (mode === 'browser') assert.ok(text.includes(`seen ${from} as ${agent}.`) && text.includes('sec-ch-ua=undefined;'), text);
    }
    assert.ok(!(await textOf({ mode: 'browser' })).includes(agent), 'the next fetch has the browser’s own');
  });

  const sessionText = async (options: Record<string, unknown>, actions: Record<string, unknown>[]): Promise<string> => {
    const { body } = await client.call(createSession, { body: options });
    const params = { session_id: body.session_id };
    const visit = { type: 'navigate', url: `${url}/moved` };
    const steps = [...actions, visit, { type: 'extract', fields: { said: { selectors: ['body'] } } }];
    const reply = await client.call(runActions, { params, body: { actions: steps } });
    const borrowed = await client.call(fetchPage, {
      body: { url: `${url}/moved`, formats: ['text'], session_id: body.session_id, headers: { 'User-Agent': 'Other/2' } },
    });
    assert.match(borrowed.body.text ?? '', /user-agent=Other\/2;/, borrowed.text.slice(0, 500));
    const again = await client.call(runActions, { params, body: { actions: [visit, steps.at(-1)] } });
    await client.call(endSession, { params });
    const said = [reply, again].map((each) => each.text);
    assert.ok(!said[1]?.includes('Other/2'), 'a fetch gives the session’s own user agent back');
    return said[0] ?? '';
  };

  it('headers that browsers set themselves are those of a session and of a step', async () => {
    const headers = { Referer: from, 'User-Agent': agent };
    const steps = Object.entries(headers).map(([name, value]) => ({ type: 'set_header', name, value }));
    for (const [options, actions] of [
      [{ extra_headers: headers }, []],
      [{}, steps],
    ] as const) {
      const said = await sessionText(options, [...actions]);
      assert.ok(said.includes(`seen ${from} as ${agent}.`) && said.includes(`user-agent=${agent};`), said);
    }
    const removed = await sessionText({}, [...steps, ...steps.map((step) => ({ ...step, value: null }))]);
    assert.ok(!removed.includes(agent) && removed.includes('referer=undefined;'), removed);
  });

  it('a Referer that is no address is refused', async () => {
    const reply = await client.call(fetchPage, { body: { url, headers: { Referer: 'not an address' } } });
    assert.equal(reply.status, 422, reply.text);
  });
});
