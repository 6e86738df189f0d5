import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { allowedCommands, refusedCommands } from './client-commands.ts';
import { applyRules as decide, isHiddenAddress, ruledCommands, type RuleContext } from './client-rules.ts';
import { protocolDocument } from './json-endpoints.ts';

const uploads = new Map([
  ['file_1', '/box/uploads/file_1/report.csv'],
  ['report.csv', '/box/uploads/file_1/report.csv'],
]);
const context: RuleContext = {
  downloadsPath: '/box/downloads',
  acceptDownloads: true,
  tabsFree: 1,
  contextsFree: 1,
  pageId: null,
  uploadPath: (name) => uploads.get(name) ?? null,
};
const applyRules = (method: string, params: Record<string, unknown>, of: RuleContext) => decide(method, params, () => of);
const kind = (method: string, params: Record<string, unknown> = {}, more: Partial<RuleContext> = {}): string =>
  applyRules(method, params, { ...context, ...more }).kind;

const forbidden = [
  'file:///etc/passwd',
  'FILE:///etc/passwd',
  ' file:///etc/passwd',
  '\tfi\nle:///etc/passwd',
  'file:/etc/passwd',
  'chrome://version',
  'chrome:version',
  'CHROME-untrusted://x',
  'chrome-extension://abc/x',
  'devtools://devtools/bundled/inspector.html',
  'view-source:file:///etc/passwd',
  'view-source:http://example.com',
  'filesystem:http://example.com/temporary/x',
  'about:version',
  'about:gpu',
  'isolated-app://x',
];

describe('the rules for DevTools clients', () => {
  for (const method of [
    'Page.navigate',
    'Target.createTarget',
    'Network.loadNetworkResource',
    'Fetch.continueRequest',
    'Autofill.trigger',
  ]) {
    it(`${method} of a DevTools client is refused for addresses that are not a site's`, () => {
      for (const url of forbidden) assert.equal(kind(method, { url }), 'refuse', url);
      for (const url of [
        'http://example.com',
        'https://example.com/file:///etc',
        'about:blank',
        'About:Blank#x',
        'data:text/html,x',
        'blob:http://x/1',
      ])
        assert.equal(kind(method, { url }), 'forward', url);
    });
  }

  it('only chrome://crash crashes a page, and similar addresses are refused', () => {
    const go = (params: Record<string, unknown>, pageId: string | null): string => kind('Page.navigate', params, { pageId });
    const url = 'chrome://crash';
    assert.deepEqual([go({ url }, 'p'), go({ url, frameId: 'p' }, 'p')], ['crash', 'crash']);
    assert.deepEqual([go({ url }, null), go({ url, frameId: 'f' }, 'p')], ['refuse', 'refuse']);
    for (const other of [
      'chrome://crash/',
      'chrome://crashes',
      'chrome://crash?x',
      'chrome://kill',
      'chrome://gpucrash',
      'chrome://inducebrowsercrashforrealz',
    ])
      assert.equal(go({ url: other }, 'p'), 'refuse', other);
    for (const method of ['Target.createTarget', 'Network.loadNetworkResource', 'Fetch.continueRequest'])
      assert.equal(kind(method, { url }, { pageId: 'p' }), 'refuse', method);
  });

  it('every command of the DevTools protocol is in the rules exactly once', async () => {
    const { domains } = (await protocolDocument()) as { domains: { domain: string; commands?: { name: string }[] }[] };
    const described = domains.flatMap(({ domain, commands = [] }) => commands.map(({ name }) => `${domain}.${name}`));
    assert.deepEqual([...allowedCommands, ...refusedCommands, ...ruledCommands].toSorted(), described.toSorted());
  });

  it('an unknown DevTools command is refused as the browser refuses it', () => {
    for (const method of ['Browser.laterCommand', 'Later.command', 'constructor', '__proto__', 'Page', 'Page.', '.navigate'])
      assert.deepEqual(applyRules(method, {}, context), { kind: 'refuse', message: `'${method}' wasn't found`, code: -32601 });
  });

  it('a DevTools client is refused commands that concern the machine', () => {
    for (const method of [
      'Browser.crash',
      'Browser.crashGpuProcess',
      'Browser.executeBrowserCommand',
      'Browser.getBrowserCommandLine',
      'SystemInfo.getInfo',
      'SystemInfo.getProcessInfo',
      'Tethering.bind',
      'Extensions.loadUnpacked',
      'PWA.install',
      'Target.exposeDevToolsProtocol',
      'Target.setRemoteLocations',
      'Target.sendMessageToTarget',
      'Target.openDevTools',
    ])
      assert.equal(kind(method), 'refuse', method);
  });

  it('a DevTools client is refused attachments that would wrap messages in messages', () => {
    assert.equal(kind('Target.attachToTarget', { targetId: 'x' }), 'refuse');
    assert.equal(kind('Target.attachToTarget', { targetId: 'x', flatten: 'true' }), 'refuse');
    assert.equal(kind('Target.setAutoAttach', { autoAttach: true }), 'refuse');
    assert.equal(kind('Target.setAutoAttach', { autoAttach: false }), 'forward');
    assert.equal(kind('Target.attachToTarget', { targetId: 'x', flatten: true }), 'forward');
  });

  it('a DevTools client is refused contexts that would bypass the egress gate', () => {
    for (const proxyServer of ['http://x:1', '', null]) assert.equal(kind('Target.createBrowserContext', { proxyServer }), 'refuse');
    for (const proxyBypassList of ['*', '', null]) assert.equal(kind('Target.createBrowserContext', { proxyBypassList }), 'refuse');
    assert.equal(kind('Target.createBrowserContext', { disposeOnDetach: true }), 'forward');
    assert.equal(kind('Target.createBrowserContext', {}, { contextsFree: 0 }), 'refuse');
  });

  it('a download folder that a DevTools client names is never used', () => {
    assert.deepEqual(
      applyRules(
        'Browser.setDownloadBehavior',
        { behavior: 'allow', downloadPath: '/etc', eventsEnabled: true, browserContextId: 'C' },
        context,
      ),
      {
        kind: 'rewrite',
        params: { behavior: 'allowAndName', downloadPath: '/box/downloads', eventsEnabled: true, browserContextId: 'C' },
      },
    );
    assert.deepEqual(
      applyRules('Page.setDownloadBehavior', { behavior: 'allow', downloadPath: '/etc' }, { ...context, acceptDownloads: false }),
      {
        kind: 'rewrite',
        params: { behavior: 'deny' },
      },
    );
  });

  it('a DevTools client gives pages only files of its own session', () => {
    const files = ['/box/downloads/a'];
    assert.deepEqual(applyRules('DOM.setFileInputFiles', { files, objectId: 'O' }, context), {
      kind: 'rewrite',
      params: { files, objectId: 'O' },
    });
    for (const path of ['/etc/passwd', '/box/downloads/../x', '/box/downloads2/a', '/box/downloads', 'a', 7, '/box/downloads/a\0b'])
      assert.equal(kind('DOM.setFileInputFiles', { files: [path] }), 'refuse', String(path));
    assert.equal(kind('DOM.setFileInputFiles', { files: 'report.csv' }), 'refuse');
    assert.equal(kind('Input.dispatchDragEvent', { data: { files: ['/etc/passwd'] } }), 'refuse');
    assert.equal(kind('Input.dispatchDragEvent', { data: null }), 'forward');
  });

  it('an uploaded file is recognized by its id or name, behind whatever folder the client names', () => {
    for (const path of ['file_1', 'report.csv', '/home/ada/report.csv', 'C:\\work\\report.csv', '/srv/app/file_1'])
      assert.deepEqual(applyRules('DOM.setFileInputFiles', { files: [path, 'file_1'], backendNodeId: 7 }, context), {
        kind: 'rewrite',
        params: { files: ['/box/uploads/file_1/report.csv', '/box/uploads/file_1/report.csv'], backendNodeId: 7 },
      });
    assert.deepEqual(applyRules('Input.dispatchDragEvent', { type: 'drop', data: { items: [], files: ['/tmp/report.csv'] } }, context), {
      kind: 'rewrite',
      params: { type: 'drop', data: { items: [], files: ['/box/uploads/file_1/report.csv'] } },
    });
  });

  it("an unknown file is refused with how to upload it, and without the client's path", () => {
    const decision = applyRules('DOM.setFileInputFiles', { files: ['report.csv', '/home/ada/secret/other.csv'] }, context);
    assert.ok(decision.kind === 'refuse');
    assert.match(decision.message, /"other\.csv".*POST \/v1\/session\/SESSION_ID\/uploads.*file_id or its name/);
    assert.doesNotMatch(decision.message, /ada|secret|box/);
  });

  it('Browser.close ends the DevTools client and not the browser', () => assert.equal(kind('Browser.close'), 'close'));
  it('a DevTools client is refused a tab beyond the limit', () =>
    assert.equal(kind('Target.createTarget', { url: 'about:blank' }, { tabsFree: 0 }), 'refuse'));
  it('other DevTools commands are forwarded unchanged', () => {
    for (const method of ['Runtime.evaluate', 'Browser.grantPermissions', 'Browser.setPermission', 'Page.enable'])
      assert.equal(kind(method), 'forward');
  });

  it('a key event loses its native code, so that no shortcut of the browser sees it', () => {
    const key = { type: 'rawKeyDown', modifiers: 2, windowsVirtualKeyCode: 84, key: 't', code: 'KeyT' };
    assert.deepEqual(applyRules('Input.dispatchKeyEvent', { ...key, nativeVirtualKeyCode: 28 }, context), { kind: 'rewrite', params: key });
  });

  it('an invalid address is refused in the words of the browser', () => {
    for (const url of ['example.com', 'http://', 'file://x:1/', '//x'])
      assert.deepEqual(applyRules('Page.navigate', { url }, context), { kind: 'refuse', message: 'Cannot navigate to invalid URL' }, url);
  });

  it('pages of the browser are hidden from clients and those of sites are not', () => {
    const hidden = forbidden.map((url) => url.trim()).filter((url) => !/^(about|fi\n)/.test(url));
    for (const url of hidden) assert.equal(isHiddenAddress(url), true, url);
    for (const url of ['http://x/', 'about:blank', 'chrome-error://chromewebdata/', 'data:,x', 'blob:http://x/1', ''])
      assert.equal(isHiddenAddress(url), false, url);
  });

  it('every command of Playwright and Puppeteer passes, except those of extensions, apps and DevTools windows', async () => {
    const known = new Set([...allowedCommands, ...refusedCommands, ...ruledCommands]);
    const used = (await librarySources()).flatMap((text) => text.match(/(?<=["'`])[A-Z][A-Za-z]+\.[a-z][A-Za-z]+(?=["'`])/g) ?? []);
    const commands = [...new Set(used)].filter((name) => known.has(name));
    assert.ok(commands.length > 120, String(commands.length));
    const refusedThere = commands.filter((name) => refusedCommands.has(name) && !/^(Extensions|PWA)\./.test(name));
    assert.deepEqual(refusedThere.toSorted(), ['Target.openDevTools', 'Target.sendMessageToTarget']);
  });
});

/** The programs of the libraries that talk to a browser. */
async function librarySources(): Promise<string[]> {
  const root = join(import.meta.dirname, '../../../../../../node_modules');
  const folder = join(root, 'puppeteer-core/lib/puppeteer/cdp');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.js'));
  return Promise.all(
    [join(root, 'playwright-core/lib/coreBundle.js'), ...names.map((name) => join(folder, name))].map((path) => readFile(path, 'utf8')),
  );
}
