/** What a browser loads before it shows a page of the dashboard. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { gzipSync } from 'node:zlib';

const dist = join(import.meta.dirname, '../../dist');
const bytesMax = 150_000;

const read = (name: string): string => readFileSync(join(dist, 'static', name), 'utf8');

/** The files that the page names, and all that they import at once. */
function firstLoad(): Set<string> {
  const html = readFileSync(join(dist, 'dashboard.html'), 'utf8');
  const files = new Set([...html.matchAll(/\/static\/([\w.-]+\.(?:js|css))/g)].map(([, name = '']) => name));
  for (const name of files)
    if (name.endsWith('.js'))
      for (const [, imported = ''] of read(name).matchAll(/(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g)) files.add(imported);
  return files;
}

const gzipBytes = (files: Iterable<string>): number => [...files].reduce((sum, name) => sum + gzipSync(read(name)).length, 0);

it('the first load of the dashboard is at most 150 kB', () => {
  const files = firstLoad();
  assert.ok(files.size >= 3, [...files].join(' '));
  const frame = gzipBytes(files);
  assert.ok(frame > 5000 && frame <= bytesMax, `${frame} bytes`);
  // No library that is loaded when needed, such as the chart's, may slip into it.
  assert.doesNotMatch([...files].map(read).join(''), /uPlot|u-over/);
});

it('no page of the dashboard holds the schema library of the contract', () => {
  const scripts = readdirSync(join(dist, 'static')).filter((name) => name.endsWith('.js'));
  for (const name of scripts) assert.doesNotMatch(read(name), /ZodError|_zod\b/, name);
});
