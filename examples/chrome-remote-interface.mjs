/** chrome-remote-interface: plain DevTools commands in flat sessions. */
import assert from 'node:assert/strict';
import CDP from 'chrome-remote-interface';
import { upload, withSession } from './berth.mjs';
import { pageUrl } from './page.mjs';

await withSession({}, async ({ id, cdpUrl }) => {
  const client = await CDP({ target: cdpUrl, local: true });
  const { targetInfos } = await client.Target.getTargets();
  const { targetId } = targetInfos.find(({ type }) => type === 'page');
  const { sessionId } = await client.Target.attachToTarget({ targetId, flatten: true });
  const send = (method, params) => client.send(method, params, sessionId);
  const evaluate = async (expression) =>
    (await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })).result.value;

  await send('Page.enable');
  const loaded = new Promise((resolve) => client.once(`Page.loadEventFired.${sessionId}`, resolve));
  await send('Page.navigate', { url: pageUrl });
  await loaded;
  await evaluate("document.getElementById('name').focus()");
  await send('Input.insertText', { text: 'Ada' });
  await evaluate("document.getElementById('greet').click()");
  assert.equal(await evaluate('document.title'), 'Hello Ada');

  const { file_id: fileId } = await upload(id, 'report.csv', 'a,b');
  const { root } = await send('DOM.getDocument');
  const { nodeId } = await send('DOM.querySelector', { nodeId: root.nodeId, selector: '#file' });
  await send('DOM.setFileInputFiles', { nodeId, files: [fileId] });
  assert.equal(await evaluate("document.getElementById('file').files[0].text()"), 'a,b');
  await client.close();
});
