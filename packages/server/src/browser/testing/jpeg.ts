/** Looks into pictures of a screencast, by means of a browser's own decoder. */
import type { Page } from '../page/model.ts';
import { call } from './on-page.ts';

export interface Seen {
  /** Of the picture, in its own pixels. */
  width: number;
  height: number;
  /** The middle of all that is plainly red, as a part of the picture's width and height; null where nothing is. */
  red: { x: number; y: number } | null;
  /** The middle pixel: red, green, blue. */
  middle: [number, number, number];
}

const look = `async (base64) => {
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

/** `page` may be any that is not hung. */
export const seeJpeg = (page: Page, data: Buffer): Promise<Seen> =>
  page.call<Seen>(page.mainFrame(), look, [data.toString('base64')], call());
