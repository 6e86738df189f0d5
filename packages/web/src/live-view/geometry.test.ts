import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letterbox, pageSizeFor, toPagePoint } from './geometry.ts';

const page = { width: 1280, height: 720 };

test('the picture fits into a wide space and into a high one', () => {
  assert.deepEqual(letterbox(page, { width: 1600, height: 720 }, 1), { x: 160, y: 0, width: 1280, height: 720 });
  assert.deepEqual(letterbox(page, { width: 640, height: 1000 }, 1), { x: 0, y: 320, width: 640, height: 360 });
});

test('the edges of the picture are on pixels of the screen', () => {
  for (const pixelRatio of [1, 1.25, 1.5, 2, 3]) {
    const box = letterbox(page, { width: 1003.3, height: 651.7 }, pixelRatio);
    for (const px of Object.values(box)) {
      const onScreen = px * pixelRatio;
      assert.ok(Math.abs(onScreen - Math.round(onScreen)) < 1e-6, `${px} at ${pixelRatio}`);
    }
  }
});

test('the picture has no box where there is no space or no picture', () => {
  const none = { x: 0, y: 0, width: 0, height: 0 };
  assert.deepEqual(letterbox(page, { width: 0, height: 500 }, 1), none);
  assert.deepEqual(letterbox({ width: 0, height: 0 }, page, 1), none);
});

test('the point of a scaled picture is mapped to the place of the page', () => {
  const box = { x: 100, y: 50, width: 640, height: 360 };
  assert.deepEqual(toPagePoint({ x: 100, y: 50 }, box, page), { x: 0, y: 0 });
  assert.deepEqual(toPagePoint({ x: 420, y: 230 }, box, page), { x: 640, y: 360 });
  assert.deepEqual(toPagePoint({ x: 740, y: 410 }, box, page), { x: 1279, y: 719 });
});

test('a drag that left the picture stays at its edge', () => {
  const box = { x: 100, y: 50, width: 640, height: 360 };
  assert.deepEqual(toPagePoint({ x: -50, y: 9000 }, box, page), { x: 0, y: 719 });
  assert.deepEqual(toPagePoint({ x: 10, y: 10 }, { x: 0, y: 0, width: 0, height: 0 }, page), { x: 0, y: 0 });
});

test('the requested page size stays within what pages may have', () => {
  assert.deepEqual(pageSizeFor({ width: 1011.4, height: 600 }), { width: 1011, height: 600 });
  assert.deepEqual(pageSizeFor({ width: 200, height: 5000 }), { width: 320, height: 2160 });
});
