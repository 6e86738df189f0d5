import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { endpoint, type Health } from '@berth/contract';
import { z } from 'zod';
import { serve } from '../http/server.fixture.ts';
import type { Http } from '../http/server.ts';
import { mountDocs, type DocsOptions } from './docs.ts';

const well: Health = { status: 'ok', checks: { store: { status: 'ok', note: 'the database is available' } } };
const mountWith =
  (options: Partial<DocsOptions> = {}) =>
  (http: Http): void =>
    mountDocs(http, { readHealth: () => Promise.resolve(well), hasSignIn: false, ...options });

const idsOf = (page: string): Set<string> => new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? ''));
const targetsOf = (page: string): string[] =>
  [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => (address ?? '').replaceAll('&amp;', '&'));

describe('the front page', () => {
  test('has the address at which it was opened in its examples, and says how the service is', async (t) => {
    const { port } = await serve(t, mountWith());
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      const response = await fetch(`http://${host}/`);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      const page = await response.text();
      assert.match(page, new RegExp(`export BERTH=http://${host}\n`));
      assert.match(page, />Ready<\/a>/);
    }
  });

  test('says which checks fail', async (t) => {
    const ill: Health = { status: 'unhealthy', checks: { ...well.checks, disk: { status: 'unhealthy', note: '<12 MB free' } } };
    const { origin } = await serve(t, mountWith({ readHealth: () => Promise.resolve(ill) }));
    const page = await (await fetch(origin)).text();
    assert.match(page, />Unhealthy<\/a>/);
    assert.match(page, /<strong>disk<\/strong>: &lt;12 MB free/);
    assert.doesNotMatch(page, /the database is available/);
  });

  test('links to the dashboard and the sign-in only where they are served', async (t) => {
    const dashboard = endpoint({
      id: 'dashboard',
      method: 'GET',
      path: '/dashboard',
      tag: 'Health',
      summary: 'Open the dashboard',
      auth: 'none',
      replyKind: 'html',
      reply: z.string(),
      status: 200,
      errors: [],
    });
    const without = await serve(t, mountWith());
    assert.doesNotMatch(await (await fetch(without.origin)).text(), /"\/(?:dashboard|dev-idp)"/);
    const withBoth = await serve(t, (http) => {
      http.on(dashboard, () => '');
      mountWith({ hasSignIn: true })(http);
    });
    const page = await (await fetch(withBoth.origin)).text();
    for (const address of ['/dashboard', '/dev-idp']) assert.ok(targetsOf(page).includes(address), address);
  });

  test('does not repeat a host that is none', async (t) => {
    const { origin } = await serve(t, mountWith());
    const page = await (await fetch(origin, { headers: { 'x-forwarded-host': '"><script>' } })).text();
    assert.doesNotMatch(page, /<script/);
  });
});

describe('the guides', () => {
  test('link only to pages, images and headings that exist, all of this service', async (t) => {
    const { origin } = await serve(t, mountWith());
    const pages = new Map<string, string>();
    const open = async (path: string): Promise<string> => {
      const known = pages.get(path);
      if (known !== undefined) return known;
      const response = await fetch(origin + path);
      assert.equal(response.status, 200, path);
      const text = await response.text();
      pages.set(path, response.headers.get('content-type')?.startsWith('text/html') ? text : '');
      return pages.get(path) ?? '';
    };
    const pending = ['/', '/docs/guides'];
    const broken: string[] = [];
    for (const path of pending) {
      for (const target of targetsOf(await open(path))) {
        const { origin: at, pathname, hash } = new URL(target, origin + path);
        // Pages that other parts of the service serve.
        if (at !== origin || ['/health', '/dev-idp', '/metrics'].includes(pathname)) continue;
        const page = await open(pathname);
        if (hash !== '' && page !== '' && !idsOf(page).has(decodeURIComponent(hash.slice(1)))) broken.push(`${path} -> ${target}`);
        if (pathname.startsWith('/docs/') && page !== '' && !pending.includes(pathname)) pending.push(pathname);
      }
    }
    assert.deepEqual(broken, []);
    for (const path of ['/docs/quickstart', '/docs/configuration', '/docs/adr', '/docs/architecture', '/docs/images/recording.png'])
      assert.ok(pages.has(path), `${path} is not linked`);
  });

  test('show the address of the service in their examples, escaped', async (t) => {
    const { port } = await serve(t, mountWith());
    const page = await (await fetch(`http://localhost:${port}/docs/quickstart`)).text();
    assert.match(page, new RegExp(`export BERTH=http://localhost:${port}\n`));
    assert.doesNotMatch(page, /127\.0\.0\.1:8080/);
    assert.match(page, /<title>Quickstart · Berth<\/title>/);
    assert.match(page, /<a href="\/docs\/quickstart" aria-current="page">/);
  });

  test('write what is not served as text', async (t) => {
    const { origin } = await serve(t, mountWith());
    const page = await (await fetch(`${origin}/docs/contributing`)).text();
    assert.doesNotMatch(page, /href="[^"]*tests\/ledger/);
    assert.ok(existsSync(join(import.meta.dirname, '../../../../tests/ledger/README.md')));
  });
});

describe('every page', () => {
  for (const path of ['/', '/docs', '/docs/guides', '/docs/quickstart', '/docs/adr'])
    test(`needs nothing from elsewhere and has no inline code: ${path}`, async (t) => {
      const { origin } = await serve(t, mountWith());
      const response = await fetch(origin + path);
      assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none';.*frame-ancestors 'none'/);
      const page = await response.text();
      assert.doesNotMatch(page, /<script>|<style>|\sstyle=|\son\w+=/);
      for (const [, part = ''] of page.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"/g)) {
        assert.match(part, /^\/(?!\/)/);
        const asset = await fetch(origin + part);
        assert.equal(asset.status, 200, part);
        if (!/\.(?:png|ico)$/.test(part)) assert.match(asset.headers.get('content-type') ?? '', /charset=utf-8$/);
        assert.ok((await asset.arrayBuffer()).byteLength > 50);
      }
    });

  test('has an icon, which browsers also ask for beside other replies', async (t) => {
    const { origin } = await serve(t, mountWith());
    const icon = await fetch(`${origin}/favicon.ico`);
    assert.deepEqual([icon.status, icon.headers.get('content-type')], [200, 'image/x-icon']);
    assert.deepEqual([...new Uint8Array(await icon.arrayBuffer()).subarray(0, 4)], [0, 0, 1, 0]);
  });
});

test('the OpenAPI document names the address at which it was requested', async (t) => {
  const { origin, http } = await serve(t, mountWith());
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as { openapi: string; servers: unknown };
  assert.equal(document.openapi, '3.1.1');
  assert.deepEqual(document.servers, [{ url: origin }]);
  assert.deepEqual([...http.mounted].sort(), ['docs', 'openapi']);
});
