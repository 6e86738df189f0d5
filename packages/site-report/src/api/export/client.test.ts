import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Entry } from 'har-format';
import { ada } from '../../../../../tests/shop/pages/account.ts';
import { startShop } from '../../../../../tests/shop/shop.ts';
import { createReportInput } from '../../exchange.ts';
import { redact } from '../../redact/redact.ts';
import { entry, inputOf } from '../../../testing/captures.ts';
import { createApi } from '../api.ts';

const root = resolve(import.meta.dirname, '../../../../..');

interface Client {
  createAuthLogin(options: object): Promise<{ status: number; body: { access_token: string; customer: { id: number } } }>;
  getCustomersOrders(options: object): Promise<{ status: number; body: { data: { id: string }[] } }>;
  getCustomersOrdersById(options: object): Promise<{ status: number; body: { id: string } }>;
}

/** Calls the shop, and remembers the calls as a capture does. */
async function recordDesk(url: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  const send = async (
    path: string,
    options: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ): Promise<unknown> => {
    const headers = { 'content-type': 'application/json', ...options.headers };
    const response = await fetch(url + path, { ...options, headers });
    const reply = await response.text();
    entries.push(entry(url + path, { type: 'fetch', status: response.status, ...options, headers, reply }));
    return JSON.parse(reply);
  };
  const body = JSON.stringify({ email: ada.email, password: ada.password });
  const login = (await send('/api/v2/auth/login', { method: 'POST', body })) as { access_token: string; customer: { id: number } };
  const headers = { authorization: `Bearer ${login.access_token}` };
  const list = `/api/v2/customers/${login.customer.id}/orders`;
  for (const page of [1, 2]) {
    const { data } = (await send(`${list}?page=${page}&per_page=5`, { headers })) as { data: { id: string }[] };
    await send(`${list}/${data[0]?.id}`, { headers });
  }
  return entries;
}

describe('the client', () => {
  let shop: Awaited<ReturnType<typeof startShop>>;
  let dir: string;
  before(async () => {
    shop = await startShop({ consent: false });
    dir = await mkdtemp(join(tmpdir(), 'berth-client-'));
  });
  after(async () => {
    await shop.close();
    await rm(dir, { recursive: true });
  });

  it('the client of a capture compiles under strict rules, and calls the shop', async () => {
    const { capture } = inputOf({ url: shop.url, entries: await recordDesk(shop.url) });
    const clean = redact(capture);
    assert.equal(JSON.stringify(clean).includes(ada.password), false);
    const { client } = createApi(createReportInput(clean), { openapi: false, client: true, samples: false }).section;
    const file = join(dir, 'client.ts');
    await writeFile(file, client ?? '');
    await writeFile(join(dir, 'package.json'), '{"type":"module"}');
    const rules =
      '--ignoreConfig --noEmit --strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes --verbatimModuleSyntax --skipLibCheck';
    const libraries = ['--target', 'es2024', '--lib', 'es2024,dom,dom.iterable', '--module', 'nodenext', '--types', ''];
    await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), [...rules.split(' '), ...libraries, file]);
    const { ApiClient } = (await import(file)) as { ApiClient: new (options?: { headers: Record<string, string> }) => Client };
    const login = await new ApiClient().createAuthLogin({ body: { email: ada.email, password: ada.password } });
    const signedIn = new ApiClient({ headers: { authorization: `Bearer ${login.body.access_token}` } });
    const orders = await signedIn.getCustomersOrders({ customer_id: login.body.customer.id, page: 1, per_page: 5 });
    assert.deepEqual([orders.status, orders.body.data.length], [200, 5]);
    const id = orders.body.data[0]?.id;
    assert.equal((await signedIn.getCustomersOrdersById({ customer_id: login.body.customer.id, order_id: id })).body.id, id);
  });
});
