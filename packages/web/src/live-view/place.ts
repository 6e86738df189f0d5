/** Where the picture lies in its space, and which place of the page a place in it is. */

export interface Size {
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

export type Box = Point & Size;

/** Bounds of a page's size, in CSS px. */
const pageBounds = { width: [320, 3840], height: [240, 2160] } as const;

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));

/**
 * The picture as large as its space allows and in its middle. Edges lie on
 * pixels of the screen, so that a picture of the right size is not blurred.
 */
export function letterbox(picture: Size, space: Size, pixelRatio: number): Box {
  if (picture.width <= 0 || picture.height <= 0 || space.width <= 0 || space.height <= 0) return { x: 0, y: 0, width: 0, height: 0 };
  const scale = Math.min(space.width / picture.width, space.height / picture.height);
  const onPixel = (px: number): number => Math.round(px * pixelRatio) / pixelRatio;
  const width = onPixel(picture.width * scale);
  const height = onPixel(picture.height * scale);
  return { x: onPixel((space.width - width) / 2), y: onPixel((space.height - height) / 2), width, height };
}

/** The place of the page under a point; the nearest one for a point outside, as of a drag that left the picture. */
export function placeOn(point: Point, picture: Box, page: Size): Point {
  const along = (offset: number, shown: number, full: number): number =>
    shown > 0 ? clamp(Math.round((offset / shown) * full), 0, Math.max(0, full - 1)) : 0;
  return { x: along(point.x - picture.x, picture.width, page.width), y: along(point.y - picture.y, picture.height, page.height) };
}

/** The size to give a page so that it fills a space one to one, as near as pages may have it. */
export const pageSizeFor = (space: Size): Size => ({
  width: Math.round(clamp(space.width, ...pageBounds.width)),
  height: Math.round(clamp(space.height, ...pageBounds.height)),
});
