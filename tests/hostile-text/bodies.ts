/** Bodies of replies, with their types: encodings that are slow to decode, JSON that is slow to parse, files that are not what they say. */
import { fill, fillWhole, megabytes } from './fill.ts';

export interface HostileBody {
  contentType: string;
  body: Buffer;
}

const largest = 12 * megabytes;
/** Invalid Shift JIS is the slowest. */
const encodings: Readonly<Record<string, number>> = {
  shift_jis: largest,
  'utf-8': largest,
  gb18030: megabytes,
  big5: megabytes,
  'iso-2022-jp': megabytes,
  'utf-16le': megabytes,
};
const text = (contentType: string, body: string): HostileBody => ({ contentType, body: Buffer.from(body) });

export const hostileBodies: Readonly<Record<string, HostileBody>> = {
  ...Object.fromEntries(
    Object.entries(encodings).map(([charset, bytes]) => [
      `${charset} of invalid bytes`,
      { contentType: `text/html; charset=${charset}`, body: Buffer.alloc(bytes, 0xff) },
    ]),
  ),
  'JSON of arrays': text('application/json', `[${fillWhole('[],', largest)}0]`),
  'JSON of objects': text('application/json', `[${fillWhole('{"a":1},', largest)}0]`),
  'JSON of arrays within bounds': text('application/json', `[${fillWhole('[],', 590_000)}0]`),
  'JSON of numbers': text('application/json', `[${fillWhole('1,', 4 * megabytes - 10)}0]`),
  'JSON of numbers within bounds': text('application/json', `[${fillWhole('0.123456789,', 3_599_988)}0]`),
  'nested JSON': text('application/json', fill('[', largest / 2) + fill(']', largest / 2)),
  'JSON without an end': text('application/json', fill('["', largest)),
  'a PDF without objects': text('application/pdf', `%PDF-1.7\n${fill('1 0 obj << ', largest)}`),
  'a PDF of another type': text('text/html', `%PDF-1.7\n${fill('<title ', megabytes)}`),
  'text that may be anything': text('application/octet-stream', fill(' ', largest)),
};

/** `Content-Type` and `Content-Disposition`, as long as a header may be. */
export const hostileTypes: readonly string[] = [
  fill('; charset = ', 16_000),
  `text/html;${fill(' ', 16_000)}charset`,
  `application/${fill('a+', 16_000)}jso`,
  fill('application/json; a=b ', 16_000),
  fill('/', 16_000),
  fill('attachment; filename="', 16_000),
  `attachment; filename*=UTF-8''${fill('%', 16_000)}`,
  `attachment; filename="${fill('../', 16_000)}"`,
];
