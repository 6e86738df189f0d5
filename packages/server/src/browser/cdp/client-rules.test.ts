import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyRules, type RuleContext } from './client-rules.ts';

const context: RuleContext = { downloadsPath: '/box/downloads', acceptDownloads: true, tabsFree: 1 };
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

describe('the rules for clients', () => {
  for (const method of [
    'Page.navigate',
    'Target.createTarget',
    'Network.loadNetworkResource',
    'Fetch.continueRequest',
    'Some.laterCommand',
  ]) {
    it(`refuse what is not a site's by ${method}`, () => {
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

  it("refuse commands that are the machine's", () => {
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
    ])
      assert.equal(kind(method), 'refuse', method);
  });

  it('refuse attachments that would hide messages in messages', () => {
    assert.equal(kind('Target.attachToTarget', { targetId: 'x' }), 'refuse');
    assert.equal(kind('Target.attachToTarget', { targetId: 'x', flatten: 'true' }), 'refuse');
    assert.equal(kind('Target.setAutoAttach', { autoAttach: true }), 'refuse');
    assert.equal(kind('Target.setAutoAttach', { autoAttach: false }), 'forward');
    assert.equal(kind('Target.attachToTarget', { targetId: 'x', flatten: true }), 'forward');
  });

  it('refuse contexts that would bypass the egress gate', () => {
    assert.equal(kind('Target.createBrowserContext', { proxyServer: 'http://x:1' }), 'refuse');
    assert.equal(kind('Target.createBrowserContext', { disposeOnDetach: true }), 'forward');
  });

  it('never take a folder from a client', () => {
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

  it("give pages the session's own files alone", () => {
    assert.equal(kind('DOM.setFileInputFiles', { files: ['/box/downloads/a'] }), 'forward');
    for (const path of ['/etc/passwd', '/box/downloads/../x', '/box/downloads2/a', '/box/downloads', 'a', 7, '/box/downloads/a\0b'])
      assert.equal(kind('DOM.setFileInputFiles', { files: [path] }), 'refuse', String(path));
    assert.equal(kind('Input.dispatchDragEvent', { data: { files: ['/etc/passwd'] } }), 'refuse');
  });

  it('end the client and not the browser at Browser.close', () => assert.equal(kind('Browser.close'), 'close'));
  it('refuse a tab beyond the limit', () => assert.equal(kind('Target.createTarget', { url: 'about:blank' }, { tabsFree: 0 }), 'refuse'));
  it('leave the rest alone', () => {
    for (const method of [
      'Runtime.evaluate',
      'Browser.grantPermissions',
      'Browser.setPermission',
      'Page.enable',
      'constructor',
      '__proto__',
    ])
      assert.equal(kind(method), 'forward');
  });
});
