import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FetchRequest, ValidationError, type ValidationIssue } from '@berth/contract';
import { loadTiers, type Tier } from '../../accounts/owners/owners.ts';
import { loadRegions } from '@berth/egress';
import type { Sessions } from '../../sessions/sessions/sessions.ts';
import type { MachineSpecDeps } from '../engine/engine.ts';
import { createFetchSpec, type FetchSpec } from './spec.ts';

const principal = (owner: string) => ({ owner, keyId: 'key_1', requestsPerMinute: null, scope: owner });

const tiers = loadTiers(null, { billing: false });

/** A fetch outside a session only asks whether the worker takes work. */
const deps = {
  owners: { tierOf: () => Promise.resolve(tiers.get(tiers.default) as Tier) },
  regions: loadRegions({ file: null, defaultCode: 'local' }),
  sessions: { assertTakesWork: () => undefined } as unknown as Sessions,
} satisfies MachineSpecDeps;

const createSpec = (body: Record<string, unknown>, owner = 'one'): Promise<FetchSpec> =>
  createFetchSpec(deps, principal(owner), FetchRequest.parse({ url: 'http://site.test/', ...body }));

async function issuesOf(body: Record<string, unknown>): Promise<ValidationIssue[]> {
  const error = await createSpec(body).then(
    () => assert.fail('the request was accepted'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ValidationError, String(error));
  return error.detail;
}

describe('an invalid selector', () => {
  const wrong = ['div[', '', '   ', ':nope(', 'a <b', '>>'].filter((text) => text !== '');

  it('each invalid selector of a fetch is reported with its location', async () => {
    for (const selector of wrong) {
      const issues = await issuesOf({
        include_selectors: ['main', selector],
        exclude_selectors: [selector],
        extract: { fields: { price: { selector }, title: { selector: 'h1' } } },
      });
      assert.deepEqual(
        issues.map(({ loc }) => loc.join('.')),
        ['body.include_selectors.1', 'body.exclude_selectors.0', 'body.extract.fields.price.selector'],
        selector,
      );
      assert.deepEqual([...new Set(issues.map(({ type, input }) => `${type}:${String(input)}`))], [`value_error:${selector}`]);
    }
  });

  it('an invalid selector of a fetch is reported together with an unknown region', async () => {
    const issues = await issuesOf({ region: 'nowhere', exclude_selectors: ['div['] });
    assert.deepEqual(
      issues.map(({ loc, type }) => [loc.join('.'), type]),
      [
        ['body.exclude_selectors.0', 'value_error'],
        ['body.region', 'literal_error'],
      ],
    );
  });
});

describe('fetch specs', () => {
  it('fetches share a machine where owner, region, proxy and ad block are the same, whatever they fetch', async () => {
    const [one, other] = await Promise.all([
      createSpec({}),
      createSpec({ url: 'https://elsewhere.example/x', formats: ['text'], region: 'local' }),
    ]);
    assert.equal(one.key, other.key);
  });

  it('fetches share no machine where owner, region, proxy or ad block differs', async () => {
    const proxy = { type: 'external', server: 'http://proxy.example:1' };
    const specs = await Promise.all([
      createSpec({}),
      createSpec({}, 'two'),
      createSpec({ block_ads: true }),
      createSpec({ proxy }),
      createSpec({ proxy: { ...proxy, username: 'u' } }),
      createSpec({ proxy: { ...proxy, bypass: ['a.example'] } }),
    ]);
    assert.equal(new Set(specs.map(({ key }) => key)).size, specs.length);
  });

  it('fetch specs know the site that they are for, and none of an address without one', async () => {
    const domains = await Promise.all(['https://www.shop.example.co.uk/a', 'http://127.0.0.1:8080/'].map((url) => createSpec({ url })));
    assert.deepEqual(
      domains.map(({ domain }) => domain),
      ['example.co.uk', '127.0.0.1'],
    );
  });
});
