import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { sourceOf } from '../page-scripts/page-scripts.ts';
import * as page from '../page-scripts/snapshot.ts';

const functions = sourceOf(page);

/**
 * An expression for a page's isolated world: a function of `SnapshotOptions`
 * that returns a `Snapshot`, without main content.
 */
export const snapshotScript: string = script('null');

let withReadability: string | undefined;

/** The same with Readability, some 100 KB larger, for the main content. */
export function snapshotSource(): string {
  const readability = (): string => readFileSync(createRequire(import.meta.url).resolve('@mozilla/readability/Readability.js'), 'utf8');
  // Its last lines check for a `module`, which a page may define.
  withReadability ??= script(`(() => { const module = undefined;\n${readability()}\nreturn Readability; })()`);
  return withReadability;
}

function script(readability: string): string {
  return `((options) => {\n${functions}\nreturn takeSnapshot(options, ${readability});\n})`;
}
