import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { requireChromium } from '../choose.ts';
import { browserAgeDays, findBrowserPrograms, isSnap, readBrowser } from './browsers.ts';

function host(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'berth-browsers-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const put = (path: string, text = ''): string => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), 0o755);
    return join(root, path);
  };
  const find = () => findBrowserPrograms({ installed: join(root, 'data/browsers'), home: join(root, 'home'), root });
  return { root, put, find };
}

describe('the browsers of a host', () => {
  it('the browser of a host is that of the distribution, then Google Chrome, then one that was installed, then that of Playwright', (t) => {
    const { root, put, find } = host(t);
    assert.deepEqual(find(), { chromium: null, shell: null });
    const inOrder = [
      'home/.cache/ms-playwright/chromium-1243/chrome-linux64/chrome',
      'data/browsers/chrome/linux-156.0.8078.47/chrome-linux64/chrome',
      'opt/google/chrome/chrome',
      'usr/lib64/chromium-browser/chromium-browser',
      'usr/lib/chromium/chromium',
    ];
    for (const path of inOrder) {
      const program = put(path);
      assert.equal(find().chromium, program);
    }
    chmodSync(join(root, 'usr/lib/chromium/chromium'), 0o644);
    assert.equal(find().chromium, join(root, 'usr/lib64/chromium-browser/chromium-browser'), 'what cannot be run is no program');
  });

  it('the browser of a host is the latest of those that were installed, by number and not by letter', (t) => {
    const { put, find } = host(t);
    for (const version of ['99.0.1.2', '156.0.8078.47', '156.0.8078.5']) put(`data/browsers/chrome/linux-${version}/chrome-linux64/chrome`);
    assert.match(find().chromium ?? '', /linux-156\.0\.8078\.47/);
    const shell = put('data/browsers/chrome-headless-shell/linux-156.0.8078.47/chrome-headless-shell-linux64/chrome-headless-shell');
    assert.equal(find().shell, shell);
  });

  it('a browser that is a snap, or starts one, is refused with what to do', (t) => {
    const { root, put } = host(t);
    const stub = put(
      'usr/bin/chromium-browser',
      '#!/bin/sh\nif ! [ -x /snap/bin/chromium ]; then exit 1; fi\nexec /snap/bin/chromium "$@"\n',
    );
    put('snap/chromium/current/chrome');
    symlinkSync(join(root, 'snap/chromium/current/chrome'), join(root, 'chromium'));
    for (const path of [stub, join(root, 'chromium')])
      assert.throws(() => requireChromium(path), /starts a snap\. It cannot run in a jail\. Install Google Chrome, or set BERTH_CHROMIUM/);
    assert.equal(isSnap(put('usr/lib/chromium/chromium', '\x7fELF')), false);
    assert.equal(isSnap(join(root, 'missing')), false);
  });

  it('a browser has the version that it prints and the age of its file', async (t) => {
    const { put } = host(t);
    const browser = await readBrowser(put('chromium', '#!/bin/sh\necho Chromium 156.0.1\necho more\n'));
    assert.equal(await readBrowser(put('broken', '#!/bin/sh\nexit 1\n')), null);
    assert.ok(browser);
    assert.equal(browser.version, 'Chromium 156.0.1');
    assert.equal(browserAgeDays(browser, Date.now() + 91 * 86_400_000), 91);
    assert.equal(browserAgeDays(browser, 0), 0, 'a clock that is behind makes no browser younger than new');
  });
});
