/**
 * The ten tasks of `tests/e2e/mcp/mcp-tasks.ts` by the tools of @playwright/mcp: as few calls as do the task, and a snapshot
 * where a model has to see the page to go on.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { ada } from '../../tests/shop/pages/account.ts';
import { products } from '../../tests/shop/data.ts';
import type { Shop } from '../../tests/shop/shop.ts';

class Peer {
  readonly #client: Pick<Client, 'callTool'>;
  #seen = '';

  constructor(client: Pick<Client, 'callTool'>) {
    this.#client = client;
  }

  async call(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const result = (await this.#client.callTool({ name, arguments: args })) as { content: { text?: string }[]; isError?: boolean };
    const text = result.content.map((part) => part.text ?? '').join('\n');
    assert.ok(result.isError !== true, `${name}: ${text}`);
    return text;
  }

  async look(expected: RegExp): Promise<void> {
    this.#seen = await this.call('browser_snapshot');
    assert.match(this.#seen, expected);
  }

  async open(url: string): Promise<void> {
    await this.call('browser_navigate', { url });
  }

  /** The reference of the first element of the last snapshot whose line matches. */
  ref(line: string): string {
    return new RegExp(`${line}[^\\n]*?\\[ref=(\\w+)\\]`).exec(this.#seen)?.[1] ?? assert.fail(`no ${line} in ${this.#seen}`);
  }

  click = (line: string): Promise<string> => this.call('browser_click', { element: line, target: this.ref(line) });
  type = (line: string, text: string, submit = false): Promise<string> =>
    this.call('browser_type', { element: line, target: this.ref(line), text, submit });
}

const listOfLinks = '() => [...document.links].map(({ text, href }) => ({ text: text.trim(), href }))';

/** Returns the tasks in the order of `tasks`. */
export function peerTasks(client: Pick<Client, 'callTool'>, shop: Shop, folder: string): (() => Promise<void>)[] {
  const peer = new Peer(client);
  const inStock = products.find(({ stock }) => stock > 5);
  return [
    async () => {
      await peer.open(`${shop.url}/c/lighting`);
      await peer.look(/€/);
    },
    async () => {
      await peer.open(shop.url);
      await peer.look(/Search/);
      await peer.type('combobox "Search the shop"', 'amber', true);
      await peer.look(/Results for/);
    },
    async () => {
      await peer.open(`${shop.url}/products/${inStock?.slug ?? ''}`);
      await peer.look(/Quantity/);
      await peer.type('(?:spinbutton|textbox) "Quantity', '2');
      await peer.click('button "Add to');
      await peer.open(`${shop.url}/cart`);
      await peer.look(new RegExp(inStock?.name ?? ''));
    },
    async () => {
      await peer.open(`${shop.url}/login`);
      await peer.look(/Password/);
      const fields = [
        { name: 'E-mail address', type: 'textbox', target: peer.ref('textbox "E-mail address'), value: ada.email },
        { name: 'Password', type: 'textbox', target: peer.ref('textbox "Password'), value: ada.password },
      ];
      await peer.call('browser_fill_form', { fields });
      await peer.click('button "Log in"');
      await peer.look(/Hello, Ada Vermeer/);
      await peer.click('link "Report of your orders');
    },
    async () => {
      writeFileSync(join(folder, 'note.txt'), 'The lamp is broken.');
      await peer.open(`${shop.url}/support`);
      await peer.look(/Subject/);
      await peer.call('browser_select_option', { element: 'Subject', target: peer.ref('combobox "Subject"'), values: ['A repair'] });
      await peer.type('textbox "Message"', 'Please help.');
      await peer.click('button "Pictures or papers"');
      await peer.call('browser_file_upload', { paths: [join(folder, 'note.txt')] });
      await peer.click('button "Send"');
      await peer.look(/We have your message/);
    },
    async () => {
      await peer.open(`${shop.url}/products`);
      await peer.look(/€/);
    },
    async () => {
      await peer.open(`${shop.url}/products/${products[0]?.slug ?? ''}`);
      await peer.look(new RegExp(products[0]?.sku ?? ''));
    },
    async () => {
      await peer.open(shop.url);
      await peer.call('browser_take_screenshot', { type: 'jpeg' });
      // Its counterpart looks for a link, and takes a picture of it.
      await peer.look(/link/);
      await peer.call('browser_take_screenshot', { type: 'jpeg', element: 'link', target: peer.ref('link "Quayside Goods"') });
    },
    async () => {
      await peer.open(shop.url);
      await peer.call('browser_network_requests', { static: true, filter: '/assets/shop.js' });
      await peer.call('browser_tabs', { action: 'new', url: `${shop.url}/help` });
      await peer.call('browser_tabs', { action: 'close' });
    },
    async () => {
      await peer.open(shop.url);
      assert.match(await peer.call('browser_evaluate', { function: listOfLinks }), /lighting/);
    },
  ];
}
