/** A flow that Chrome's Recorder recorded, on a page of the shop before and after its redesign. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Client as DatabaseClient } from 'pg';
import { listSkills, runAgent, type AgentResponse } from '@berth/contract';
import { testStore, type TestStore } from '../../../packages/server/testing/test-store.ts';
import type { Client } from '../../harness.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const password = 'correct horse battery';
/** A token as services issue them. */
const token = 'sk_test_4eC39HqLyjWDarjtT1zdp7dc';
const code = '739214';
const address = 'ada.vermeer@example.com';
/** The secrets stand wherever an element is recognised by: its own text, its label, attributes, headings, what is beside it. */
const pages = {
  '/sign-in': page(
    'Sign in',
    `<h1>Code ${code} for ${address}</h1><form action="/keys?token=${token}"><p>Your token is ${token}</p>
     <label for="word">Password of ${address}</label><input type="password" id="word" name="word" placeholder="not ${password}" title="${token}">
     <p>${code}</p><button>Go on as ${address}</button></form>`,
  ),
  '/keys': page(
    'Keys',
    `<h2>Welcome, correct horse! Your password is ${password}</h2><p>${token}</p>
     <a id="copy" href="/keys/${token}/copy" title="Copy ${token}">Copy ${token} (${password})</a><p>${password}</p>`,
  ),
  [`/keys/${token}/copy`]: page('Copied', `<h1>${token}</h1>`),
};

let shop: Shop;
let site: Site;
let database: TestStore;
let service: Service;
let client: Client;
before(async () => {
  [shop, site, database] = await Promise.all([startShop({ consent: false }), startSite({ pages }), testStore()]);
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${shop.host},${site.host}`, BERTH_DATABASE_URL: database.url } });
  client = service.client;
});
after(async () => {
  await service?.close();
  await Promise.all([shop?.close(), site?.close(), database?.drop()]);
});

/** A recording as the Recorder exports it, with the ids of the page only. */
const recording = (url: string) => ({
  title: 'Order two lamps',
  steps: [
    { type: 'navigate', url },
    { type: 'change', value: '2', selectors: [['#quantity']], target: 'main', timeout: 30_000 },
    { type: 'click', selectors: [['#add-to-cart']], target: 'main', offsetX: 5, offsetY: 5, timeout: 30_000 },
    // The page adds by a request of its own, which would end with its session.
    { type: 'waitForElement', selectors: [['xpath///*[@data-testid="cart-count" and text()="2"]']], count: 1, timeout: 30_000 },
  ],
});

async function order(): Promise<AgentResponse> {
  const inputs = { recording: recording(`${shop.url}/products/amber-desk-lamp`) };
  return (await client.call(runAgent, { body: { task: 'custom', inputs } })).body;
}
const healed = ({ steps }: AgentResponse): boolean[] => steps.map((step) => step.healed);

it('a flow runs, heals after a redesign, and uses what it learned', async () => {
  const first = await order();
  assert.equal(first.status, 'ok', JSON.stringify(first.error));
  assert.ok(healed(first).every((each) => !each));
  shop.redesign();
  for (let run = 0; run < 2; run += 1) {
    const again = await order();
    assert.equal(again.status, 'ok', JSON.stringify([again.error, again.steps]));
    assert.equal(healed(again).filter(Boolean).length, 1, JSON.stringify(again.steps));
  }
  const added = shop.requests.filter(({ method, path }) => method === 'POST' && path.includes('cart'));
  assert.deepEqual(
    added.map(({ body }) => /quantity["=:\s]*(\d)/.exec(body.toString())?.[1]),
    ['2', '2', '2'],
  );
  const skills = (await client.call(listSkills, { query: { task: 'custom' } })).body;
  const button = skills.find(({ name }) => name.includes('#add-to-cart'));
  assert.deepEqual([button?.state, button?.success_count, button?.failure_count], ['active', 3, 0]);
  assert.notEqual(button?.last_healed_at, null);
});

/** Every row of the tables of skills, as text. */
async function storedSkills(): Promise<string> {
  const connection = new DatabaseClient({ connectionString: database.url });
  await connection.connect();
  try {
    const { rows } = await connection.query<{ text: string }>(
      `select each::text as text from skills each union all select each::text from skill_heals each`,
    );
    return rows.map(({ text }) => text).join('\n');
  } finally {
    await connection.end();
  }
}

it('a flow remembers elements without the secrets that stand in them and beside them', async () => {
  const steps = [
    { type: 'navigate', url: `${site.url}/sign-in` },
    { type: 'fill', id: 'word', selectors: ['#word'], value: '{{secret.word}}', timeout_ms: 30_000 },
    { type: 'click', id: 'submit', selectors: ['button'], timeout_ms: 30_000 },
    { type: 'click', id: 'copy', selectors: ['#copy'], timeout_ms: 30_000 },
  ];
  const inputs = { steps, secrets: { word: password } };
  const { status, error } = (await client.call(runAgent, { body: { task: 'custom', inputs } })).body;
  assert.equal(status, 'ok', JSON.stringify(error));
  const listed = await client.call(listSkills, { query: { task: 'custom' } });
  const names = listed.body.map(({ name }) => name);
  for (const name of ['word #word', 'submit button', 'copy #copy']) assert.ok(names.includes(name), names.join(', '));
  const stored = await storedSkills();
  assert.match(stored, /Go on as/);
  for (const text of [stored, listed.text])
    for (const secret of [password, 'horse', token, 'LyjWDarjtT1zdp7dc', code, address, 'ada.vermeer'])
      assert.ok(!text.includes(secret), `${secret} in …${text.slice(Math.max(0, text.indexOf(secret) - 200), text.indexOf(secret) + 60)}`);
});
