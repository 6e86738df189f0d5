import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountDocs } from './docs.ts';
import { serve } from './server.fixture.ts';

test('serves the page and all it needs from our own address, under a strict policy', async (t) => {
  const { origin } = await serve(t, mountDocs);
  const response = await fetch(`${origin}/docs`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self'/);
  const page = await response.text();
  const parts = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address ?? '');
  assert.equal(parts.length, 4);
  for (const part of parts) {
    assert.match(part, /^\/docs\//);
    const asset = await fetch(`${origin}${part}`);
    assert.equal(asset.status, 200, part);
    if (!part.endsWith('.png')) assert.match(asset.headers.get('content-type') ?? '', /charset=utf-8$/);
    assert.ok((await asset.arrayBuffer()).byteLength > 50);
  }
  assert.doesNotMatch(page, /<script>|<style>/);
});

test('names the address at which the document was requested', async (t) => {
  const { origin, http } = await serve(t, mountDocs);
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as { openapi: string; servers: unknown };
  assert.equal(document.openapi, '3.1.1');
  assert.deepEqual(document.servers, [{ url: origin }]);
  assert.deepEqual([...http.mounted].sort(), ['docs', 'openapi']);
});
