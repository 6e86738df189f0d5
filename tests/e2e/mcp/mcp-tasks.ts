/** A scripted client of the MCP server in place of a model: ten tasks in the shop, each a list of calls and what must have come of them. */
import assert from 'node:assert/strict';
import type { Client } from '@modelcontextprotocol/client';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { ada } from '../../shop/pages/account.ts';
import { products } from '../../shop/data.ts';
import type { Shop } from '../../shop/shop.ts';

/** No reply may end a conversation. */
const replyTokensMax = 8000;

export interface Reply {
  text: string;
  image: string | undefined;
  isError: boolean;
}

export interface Task {
  title: string;
  /** Calls in order; `session` is the handle of the task's session. */
  run(agent: Agent, shop: Shop): Promise<void>;
}

export class Agent {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async call(name: string, args: object = {}): Promise<Reply> {
    const { content, isError = false } = (await this.#client.callTool({ name, arguments: { ...args } })) as {
      content: { type: string; text?: string; data?: string }[];
      isError?: boolean;
    };
    const text = content.map((part) => part.text ?? '').join('\n');
    assert.ok(encode(text).length <= replyTokensMax, `${name} answered ${encode(text).length} tokens`);
    return { text, image: content.find(({ type }) => type === 'image')?.data, isError };
  }

  /** Fails where the tool does. */
  async ok(name: string, args: object = {}): Promise<string> {
    const reply = await this.call(name, args);
    assert.equal(reply.isError, false, reply.text);
    return reply.text;
  }

  async open(url: string): Promise<string> {
    const text = await this.ok('open', { url });
    const [, session = ''] = /^session (\S+)/.exec(text) ?? [];
    assert.notEqual(session, '', text);
    return session;
  }
}

const signIn = [
  { type: 'fill', ref: 'label/E-mail address', value: ada.email },
  { type: 'fill', ref: 'label/Password', value: ada.password },
  { type: 'click', ref: 'aria/Log in[role="button"]' },
];

export const tasks: readonly Task[] = [
  {
    title: 'finds the names and prices of a list',
    async run(agent, shop) {
      const session = await agent.open(`${shop.url}/c/lighting`);
      const text = await agent.ok('extract', {
        session,
        rows: '[data-testid=results] > li',
        fields: { name: 'h2, h3, a', price: '.price' },
      });
      assert.match(text, /"name":"[^"]+","price":"[^"]*€/);
      await agent.ok('end', { session });
    },
  },
  {
    title: 'searches the shop',
    async run(agent, shop) {
      const session = await agent.open(shop.url);
      const text = await agent.ok('act', {
        session,
        steps: [
          { type: 'fill', ref: '#q', value: 'amber' },
          { type: 'press', value: 'Enter' },
          { type: 'wait', value: 'Results for' },
        ],
      });
      assert.match(text, /3 wait ok/);
      assert.match(text, /search\?q=amber/);
      await agent.ok('end', { session });
    },
  },
  {
    title: 'puts two of a product into the cart',
    async run(agent, shop) {
      const product = products.find(({ stock }) => stock > 5);
      const session = await agent.open(`${shop.url}/products/${product?.slug ?? ''}`);
      await agent.ok('act', {
        session,
        steps: [
          { type: 'fill', ref: 'label/Quantity', value: '2' },
          { type: 'click', ref: '#add-to-cart' },
        ],
      });
      await agent.ok('act', {
        session,
        steps: [
          { type: 'wait', ref: '#cart-count' },
          { type: 'navigate', value: `${shop.url}/cart` },
        ],
      });
      assert.match(await agent.ok('read', { session, only_main: true }), new RegExp(`${product?.name ?? ''}.*2`));
      await agent.ok('end', { session });
    },
  },
  {
    title: 'signs in and reads a report that it downloads',
    async run(agent, shop) {
      const session = await agent.open(`${shop.url}/login`);
      assert.match(await agent.ok('act', { session, steps: signIn }), /Hello, Ada Vermeer/);
      const text = await agent.ok('act', { session, steps: [{ type: 'download', ref: 'text/Report of your orders' }] });
      const [, id = ''] = /"download_id":"([^"]+)"/.exec(text) ?? [];
      assert.match(await agent.ok('files', { session }), /report\.csv completed/);
      assert.match(await agent.ok('files', { session, get: id }), /order,total/);
      await agent.ok('end', { session });
    },
  },
  {
    title: 'sends a form with a file',
    async run(agent, shop) {
      const session = await agent.open(`${shop.url}/support`);
      const [, file = ''] = /file id (\S+)/.exec(await agent.ok('files', { session, name: 'note.txt', text: 'The lamp is broken.' })) ?? [];
      const text = await agent.ok('act', {
        session,
        steps: [
          { type: 'select', ref: 'label/Subject', value: 'A repair' },
          { type: 'fill', ref: 'label/Message', value: 'Please help.' },
          { type: 'upload', ref: '#files', value: file },
          { type: 'click', ref: 'aria/Send[role="button"]' },
        ],
      });
      assert.match(text, /We have your message: .*Please help/);
      assert.match(text, /note\.txt/);
      await agent.ok('end', { session });
    },
  },
  {
    title: 'reads a long page in parts without a session',
    async run(agent, shop) {
      const first = await agent.ok('read', { url: `${shop.url}/products`, max_tokens: 300 });
      const [, after = ''] = /after "(\d+)"/.exec(first) ?? [];
      const second = await agent.ok('read', { url: `${shop.url}/products`, max_tokens: 300, after });
      assert.notEqual(after, '', first);
      assert.notEqual(second.replaceAll(/page-[0-9a-f]+/g, ''), first.replaceAll(/page-[0-9a-f]+/g, ''));
    },
  },
  {
    title: 'fetches fields of a page without a session',
    async run(agent, shop) {
      const product = products[0];
      const text = await agent.ok('fetch', {
        url: `${shop.url}/products/${product?.slug ?? ''}`,
        formats: ['metadata'],
        fields: { name: 'h1', sku: '.sku' },
      });
      assert.ok(text.includes(`"name":"${product?.name ?? ''}"`) && text.includes(`"sku":"${product?.sku ?? ''}"`), text);
    },
  },
  {
    title: 'sees the page, at a size that models see',
    async run(agent, shop) {
      const session = await agent.open(shop.url);
      const { text, image } = await agent.call('screenshot', { session });
      assert.match(text, /^1024 × 768 px/);
      assert.equal(
        Buffer.from(image ?? '', 'base64')
          .subarray(0, 3)
          .toString('hex'),
        'ffd8ff',
      );
      const shown = await agent.call('snapshot', { session });
      const [, ref] = /link [^\n]*\[ref=(e\d+)\]/.exec(shown.text) ?? [];
      const element = await agent.call('screenshot', { session, ref });
      assert.match(element.text, /^[1-9]\d* × [1-9]\d* px/);
      await agent.ok('end', { session });
    },
  },
  {
    title: 'lists what a page requested, and works in a second tab',
    async run(agent, shop) {
      const session = await agent.open(shop.url);
      assert.match(await agent.ok('network', { session, filter: '/assets/shop.js' }), /GET 200 \S+shop\.js/);
      const text = await agent.ok('tabs', { session, url: `${shop.url}/help` });
      const [, tab = ''] = /(\S+) \* Help/.exec(text) ?? [];
      assert.match(await agent.ok('tabs', { session, close: tab }), /^(?!.*\/help)/s);
      await agent.ok('end', { session });
    },
  },
  {
    title: 'runs a flow by its name, after it has looked at its inputs',
    async run(agent, shop) {
      assert.match(await agent.ok('run'), /extract_links: /);
      assert.match(await agent.ok('run', { task: 'extract_links' }), /"inputs":/);
      assert.match(await agent.ok('run', { task: 'extract_links', inputs: { url: shop.url } }), /ok, \d+ steps[^]*\/c\/lighting/);
    },
  },
];
