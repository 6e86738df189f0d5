import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { classifyResponse } from '@berth/reading/testing/block-pages.ts';
import { exchanges, serve, type Exchange, type Expected, type Served } from './corpus.ts';

let served: Served;

before(async () => void (served = await serve()));
after(() => served.close());

const read = (exchange: Exchange): Promise<Response> => fetch(served.urlOf(exchange.name), { redirect: 'manual' });

async function classify(exchange: Exchange): Promise<Expected> {
  const { blocked, block, warnings, captcha } = await classifyResponse(await read(exchange));
  return {
    blocked,
    type: blocked && block ? block.type : null,
    vendor: blocked && block ? block.vendor : null,
    warning: warnings[0]?.replace('possible_block:', '') ?? null,
    captcha: captcha.vendor,
  };
}

describe('block pages', () => {
  for (const exchange of exchanges.filter(({ expected }) => expected.blocked)) {
    it(`block detection detects ${exchange.name}`, async () => assert.deepEqual(await classify(exchange), exchange.expected));
  }
});

describe('look-alikes', () => {
  for (const exchange of exchanges.filter(({ expected }) => !expected.blocked)) {
    it(`block detection does not report the look-alike ${exchange.name}`, async () =>
      assert.deepEqual(await classify(exchange), exchange.expected));
  }
});

describe('the corpus', () => {
  it('the corpus has at least 44 exchanges of each kind with unique names and paths', () => {
    const blocks = exchanges.filter(({ expected }) => expected.blocked);
    assert.ok(blocks.length >= 44, `${blocks.length} blocks`);
    assert.ok(exchanges.length - blocks.length >= 44, `${exchanges.length - blocks.length} look-alikes`);
    assert.equal(new Set(exchanges.map(({ name }) => name)).size, exchanges.length);
    assert.equal(new Set(exchanges.map(({ path }) => path)).size, exchanges.length);
  });

  it('the corpus is served byte for byte', async () => {
    for (const exchange of exchanges) {
      const reply = await read(exchange);
      assert.equal(reply.status, exchange.status, exchange.name);
      assert.deepEqual(Buffer.from(await reply.arrayBuffer()), Buffer.from(exchange.body), exchange.name);
      for (const [name, value] of Object.entries(exchange.headers)) {
        assert.deepEqual(
          name === 'set-cookie' ? reply.headers.getSetCookie() : reply.headers.get(name),
          name === 'set-cookie' ? [value].flat() : value,
        );
      }
    }
  });

  it('block detection reports captchas of the corpus but no blocks when it is off', async () => {
    for (const exchange of exchanges) {
      const { blocked, block, warnings, captcha } = await classifyResponse(await read(exchange), 'off');
      assert.deepEqual({ blocked, block, warnings }, { blocked: false, block: null, warnings: [] }, exchange.name);
      if (!exchange.expected.blocked) assert.equal(captcha.vendor, exchange.expected.captcha, exchange.name);
    }
  });
});
