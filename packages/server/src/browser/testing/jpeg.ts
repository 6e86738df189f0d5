/** Decodes frames of a screencast with a browser. */
import type { Page } from '../page/model.ts';
import { call } from './on-page.ts';

export interface JpegInfo {
  /** In pixels of the image. */
  width: number;
  height: number;
  /** The center of all red pixels, relative to the image's width and height; null without any. */
  red: { x: number; y: number } | null;
  /** The middle pixel: red, green, blue. */
  middle: [number, number, number];
}

const readPixels = `async (base64) => {
  const image = new Image();
  image.src = 'data:image/jpeg;base64,' + base64;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0, x = 0, y = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] < 170 || data[at + 1] > 90 || data[at + 2] > 90) continue;
    count += 1;
    x += (at / 4) % canvas.width + 0.5;
    y += Math.floor(at / 4 / canvas.width) + 0.5;
  }
  const middle = [...context.getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data].slice(0, 3);
  const red = count === 0 ? null : { x: x / count / canvas.width, y: y / count / canvas.height };
  return { width: canvas.width, height: canvas.height, red, middle };
}`;

/** `page` may be any page that responds. */
export const readJpeg = (page: Page, data: Buffer): Promise<JpegInfo> =>
  page.call<JpegInfo>(page.mainFrame(), readPixels, [data.toString('base64')], call());
