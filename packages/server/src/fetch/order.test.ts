import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FetchRequest, ValidationError, type Fault } from '@berth/contract';
import { loadTiers, type Tier } from '../owners/owners.ts';
import { loadRegions } from '../regions/regions.ts';
import { makeFetchOrder, type FetchOrder, type OrderDeps } from './order.ts';

const principal = (owner: string) => ({ owner, keyId: 'key_1', requestsPerMinute: null, scope: owner });

const tiers = loadTiers(null, { billing: false });

/** No session is asked for an order of its own machine. */
const deps = {
  owners: { tierOf: () => Promise.resolve(tiers.get(tiers.default) as Tier) },
  regions: loadRegions({ file: null, defaultCode: 'local' }),
  sessions: undefined as never,
} satisfies OrderDeps;

const orderOf = (body: Record<string, unknown>, owner = 'one'): Promise<FetchOrder> =>
  makeFetchOrder(deps, principal(owner), FetchRequest.parse({ url: 'http://site.test/', ...body }));

async function faultsOf(body: Record<string, unknown>): Promise<Fault[]> {
  const error = await orderOf(body).then(
    () => assert.fail('the order was taken'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ValidationError, String(error));
  return error.detail;
}

describe('a selector that is none', () => {
  const wrong = ['div[', '', '   ', ':nope(', 'a <b', '>>'].filter((text) => text !== '');

  it('is told where it stands, each of them', async () => {
    for (const selector of wrong) {
      const faults = await faultsOf({
        include_selectors: ['main', selector],
        exclude_selectors: [selector],
        extract: { fields: { price: { selector }, title: { selector: 'h1' } } },
      });
      assert.deepEqual(
        faults.map(({ loc }) => loc.join('.')),
        ['body.include_selectors.1', 'body.exclude_selectors.0', 'body.extract.fields.price.selector'],
        selector,
      );
      assert.deepEqual([...new Set(faults.map(({ type, input }) => `${type}:${String(input)}`))], [`value_error:${selector}`]);
    }
  });

  it('is told together with a region that is none', async () => {
    const faults = await faultsOf({ region: 'nowhere', exclude_selectors: ['div['] });
    assert.deepEqual(
      faults.map(({ loc, type }) => [loc.join('.'), type]),
      [
        ['body.exclude_selectors.0', 'value_error'],
        ['body.region', 'literal_error'],
      ],
    );
  });
});

describe('orders', () => {
  it('share a machine where owner, region, proxy and ad block are the same, whatever they fetch', async () => {
    const [one, other] = await Promise.all([
      orderOf({}),
      orderOf({ url: 'https://elsewhere.example/x', formats: ['text'], region: 'local' }),
    ]);
    assert.equal(one.key, other.key);
  });

  it('share none where any of these differs', async () => {
    const proxy = { type: 'external', server: 'http://proxy.example:1' };
    const orders = await Promise.all([
      orderOf({}),
      orderOf({}, 'two'),
      orderOf({ block_ads: true }),
      orderOf({ proxy }),
      orderOf({ proxy: { ...proxy, username: 'u' } }),
      orderOf({ proxy: { ...proxy, bypass: ['a.example'] } }),
    ]);
    assert.equal(new Set(orders.map(({ key }) => key)).size, orders.length);
  });

  it('know the site that they are for, and none of an address without one', async () => {
    const domains = await Promise.all(['https://www.shop.example.co.uk/a', 'http://127.0.0.1:8080/'].map((url) => orderOf({ url })));
    assert.deepEqual(
      domains.map(({ domain }) => domain),
      ['example.co.uk', '127.0.0.1'],
    );
  });
});
