/** Layout of the frame, and conversion of its coordinates to the page's. */

export interface Size {
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

export type Box = Point & Size;

/** Limits of a page's size, in CSS px. */
const pageSizeBounds = { width: [320, 3840], height: [240, 2160] } as const;

const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, value));

/**
 * Fits and centres the frame in its space. Edges are aligned to device pixels,
 * so that a frame of the right size is not blurred.
 */
export function letterbox(picture: Size, space: Size, pixelRatio: number): Box {
  if (picture.width <= 0 || picture.height <= 0 || space.width <= 0 || space.height <= 0) return { x: 0, y: 0, width: 0, height: 0 };
  const scale = Math.min(space.width / picture.width, space.height / picture.height);
  const onPixel = (px: number): number => Math.round(px * pixelRatio) / pixelRatio;
  const width = onPixel(picture.width * scale);
  const height = onPixel(picture.height * scale);
  return { x: onPixel((space.width - width) / 2), y: onPixel((space.height - height) / 2), width, height };
}

/** Converts a point to page coordinates. Points outside, as in a drag, are clamped. */
export function toPagePoint(point: Point, picture: Box, page: Size): Point {
  const along = (offset: number, shown: number, full: number): number =>
    shown > 0 ? clamp(Math.round((offset / shown) * full), 0, Math.max(0, full - 1)) : 0;
  return { x: along(point.x - picture.x, picture.width, page.width), y: along(point.y - picture.y, picture.height, page.height) };
}

/** Returns the page size that fills a space one to one, within the limits. */
export const pageSizeFor = (space: Size): Size => ({
  width: Math.round(clamp(space.width, ...pageSizeBounds.width)),
  height: Math.round(clamp(space.height, ...pageSizeBounds.height)),
});
