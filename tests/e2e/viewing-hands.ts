/** What hands do, and where it happens. */
import assert from 'node:assert/strict';
import type { Person } from './viewing.ts';
import type { Report } from './viewing-pages.ts';

/** In CSS px of a page. */
export interface Spot {
  x: number;
  y: number;
}

/** A picture that is drawn smaller than the page tells places to a few pixels. */
export function assertAt({ x, y }: Report, spot: Spot): void {
  assert.ok(Math.abs(Number(x) - spot.x) <= 3 && Math.abs(Number(y) - spot.y) <= 3, JSON.stringify({ x, y, spot }));
}

/** Draws a finger over the glass. */
export async function dragFinger({ context, page }: Person, [x, y]: [number, number], dy: number): Promise<void> {
  const devtools = await context.newCDPSession(page);
  await devtools.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
  for (let part = 1; part <= 6; part += 1)
    await devtools.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x, y: y + (dy * part) / 6 }] });
  await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await devtools.detach();
}
