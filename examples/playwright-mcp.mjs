/**
 * @playwright/mcp, the server that gives a language model a browser: here its tools are called by a script.
 * It is configured with an address that stays the same, and has a session as long as it is connected.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { withConnectToken } from './berth.mjs';
import { withServer } from './mcp.mjs';
import { pageUrl } from './page.mjs';

const server = join(dirname(createRequire(import.meta.url).resolve('@playwright/mcp/package.json')), 'cli.js');
/** The reference of an element in a snapshot of the page. */
const refOf = (snapshot, element) => new RegExp(`${element}.*?\\[ref=(\\w+)\\]`).exec(snapshot)?.[1] ?? assert.fail(snapshot);

await withConnectToken((address) =>
  withServer([server, '--cdp-endpoint', address], async (call) => {
    await call('browser_navigate', { url: pageUrl });
    const snapshot = await call('browser_snapshot');
    await call('browser_type', { element: 'Name', target: refOf(snapshot, 'textbox "Name"'), text: 'Ada' });
    await call('browser_click', { element: 'Greet', target: refOf(snapshot, 'button "Greet"') });
    assert.match(await call('browser_evaluate', { function: '() => document.title' }), /Hello Ada/);
  }),
);
