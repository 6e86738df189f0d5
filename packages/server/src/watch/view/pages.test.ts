import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Pages } from './pages.ts';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-pages-'));
  mkdirSync(join(folder, 'static', 'folder.js'), { recursive: true });
  for (const name of ['live-view', 'player', 'vnc', 'dashboard']) writeFileSync(join(folder, `${name}.html`), `<title>${name}</title>`);
  writeFileSync(join(folder, 'link-error.html'), '<h1><!--title--></h1><p><!--message--></p><i><!--hint--></i><b><!--status--></b>');
  writeFileSync(join(folder, 'static', 'main-abc.js'), 'let a;');
  writeFileSync(join(folder, 'static', 'main-abc.js.br'), 'short');
  writeFileSync(join(folder, 'static', 'notes.md'), 'not for a page');
  writeFileSync(join(folder, 'secret.js'), 'secret');
  symlinkSync(join(folder, 'secret.js'), join(folder, 'static', 'link.js'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe('the built pages', () => {
  it('the built pages name the build command when they are not built', () => {
    assert.throws(() => new Pages(join(folder, 'static')), /not built.*scripts\/setup\.sh/);
  });

  it('the built pages run only what the service serves, cannot be framed, and are not cached', () => {
    const { html, headers } = new Pages(folder).page('live-view', 'https://berth.test');
    assert.equal(html, '<title>live-view</title>');
    const policy = headers['content-security-policy'] ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.match(policy, /connect-src 'self' wss:\/\/berth\.test;/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.ok(!/unsafe|\*/.test(policy));
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['cache-control'], 'no-store');
  });

  it('the built pages let the dashboard alone show the player, and no other origin frames either', () => {
    const policyOf = (name: 'dashboard' | 'player') =>
      new Pages(folder).page(name, 'https://berth.test').headers['content-security-policy'] ?? '';
    assert.match(policyOf('dashboard'), /frame-src 'self'; frame-ancestors 'none'/);
    assert.match(policyOf('player'), /frame-ancestors 'self'/);
    assert.doesNotMatch(policyOf('player'), /frame-src/);
  });

  it('the built pages name the socket’s origin as the caller reaches it', () => {
    assert.match(
      new Pages(folder).page('vnc', 'http://127.0.0.1:8080').headers['content-security-policy'] ?? '',
      /connect-src 'self' ws:\/\/127\.0\.0\.1:8080;/,
    );
  });

  it('the built pages show the status and message of an error', () => {
    const { errorPage } = new Pages(folder);
    assert.match(
      errorPage(403, 'This &lt;link&gt; costs $&amp;.'),
      /^<h1>This link cannot be opened<\/h1><p>This &lt;link&gt; costs \$&amp;\.<\/p><i>Links expire\.[^<]*<\/i><b>403<\/b>$/,
    );
    assert.match(
      errorPage(404, 'No such page.'),
      /^<h1>This page does not exist<\/h1><p>No such page\.<\/p><i>[^]*<a href="\/">[^]*<\/i><b>404<\/b>$/,
    );
  });

  it('the built pages have files of known kinds by their names, and no folders and no links', () => {
    const { files } = new Pages(folder);
    assert.deepEqual([...files.keys()], ['main-abc.js']);
    assert.deepEqual(files.get('main-abc.js'), {
      contentType: 'text/javascript; charset=utf-8',
      data: Buffer.from('let a;'),
      encodings: new Map([['br', Buffer.from('short')]]),
    });
  });

  it('the built pages are compressed by the build, in both encodings', () => {
    const { files } = new Pages(join(import.meta.dirname, '../../../../web/dist'));
    const decoders = { br: brotliDecompressSync, gzip: gunzipSync };
    const compressed = [...files.values()].filter(({ encodings }) => encodings.size > 0);
    for (const { data, encodings } of compressed) {
      assert.deepEqual([...encodings.keys()], ['br', 'gzip']);
      for (const [encoding, decode] of Object.entries(decoders)) assert.deepEqual(decode(encodings.get(encoding) ?? ''), data);
    }
    const large = [...files.values()].filter(({ data, contentType }) => data.length > 2048 && !contentType.startsWith('image/png'));
    for (const { data, encodings } of large) assert.ok((encodings.get('br')?.length ?? Infinity) < data.length * 0.7);
    assert.ok(large.length > 20);
  });
});
