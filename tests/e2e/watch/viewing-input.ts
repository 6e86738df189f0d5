/** Touch input, and checks of reported positions. */
import assert from 'node:assert/strict';
import type { Viewer } from './viewing.ts';
import type { Report } from './viewing-pages.ts';

/** A position in CSS px of a page. */
export interface Spot {
  x: number;
  y: number;
}

/** Scaling limits positions to a precision of a few pixels. */
export function assertAt({ x, y }: Report, spot: Spot): void {
  assert.ok(Math.abs(Number(x) - spot.x) <= 3 && Math.abs(Number(y) - spot.y) <= 3, JSON.stringify({ x, y, spot }));
}

/** Drags a finger over the screen. One that rests opens a menu, so its first move, too long for rest, is sent with the touch. */
export async function dragFinger({ context, page }: Viewer, [x, y]: [number, number], dy: number): Promise<void> {
  const devtools = await context.newCDPSession(page);
  const move = (step: number) =>
    devtools.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x, y: y + (dy * step) / 3 }] });
  await Promise.all([devtools.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] }), move(1)]);
  for (const step of [2, 3]) await move(step);
  await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await devtools.detach();
}
