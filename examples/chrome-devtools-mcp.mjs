/** chrome-devtools-mcp, the server that gives a language model DevTools: here its tools are called by a script. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { upload, withConnectToken, withSession } from './berth.mjs';
import { withServer } from './mcp.mjs';
import { pageUrl } from './page.mjs';

const folder = dirname(createRequire(import.meta.url).resolve('chrome-devtools-mcp/package.json'));
const server = join(folder, 'build/src/bin/chrome-devtools-mcp.js');
/** The id of an element in a snapshot of the page. */
const uidOf = (snapshot, element) => new RegExp(`uid=(\\S+) ${element}`).exec(snapshot)?.[1] ?? assert.fail(snapshot);

await withSession({}, ({ id, cdpUrl }) =>
  withServer([server, '--wsEndpoint', cdpUrl, '--no-usage-statistics'], async (tool) => {
    const call = (name, parameters) => tool(name, { pageId: 1, ...parameters });
    await call('navigate_page', { type: 'url', url: pageUrl });
    const snapshot = await call('take_snapshot');
    await call('fill', { uid: uidOf(snapshot, 'textbox "Name"'), value: 'Ada' });
    await call('click', { uid: uidOf(snapshot, 'button "Greet"') });
    const title = () => call('evaluate_script', { function: '() => document.title' });
    assert.match(await title(), /Hello Ada/);

    await upload(id, 'report.csv', 'a,b');
    await call('upload_file', { uid: uidOf(await call('take_snapshot'), '\\w+ "File'), filePaths: ['report.csv'] });
    assert.match(await title(), /report\.csv, 3 bytes/);
  }),
);

// Configured once, with an address that stays the same: each start of the server has a session of its own.
await withConnectToken((address) =>
  withServer([server, '--browserUrl', address, '--no-usage-statistics'], async (tool) => {
    await tool('navigate_page', { pageId: 1, type: 'url', url: pageUrl });
    assert.match(await tool('take_snapshot', { pageId: 1 }), /button "Greet"/);
  }),
);
