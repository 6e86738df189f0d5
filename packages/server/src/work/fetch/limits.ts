/** Bounds on one fetch: its time, and what it holds in the worker's memory. */
/** Larger content is cut, and `warnings` say so. */
export const limits = {
  /** Maximum bytes of a rendered page's HTML. */
  htmlBytesMax: 8 * 1024 * 1024,
  /** Maximum bytes, decompressed, of a plain response, of a document that is not a page, and of the format `raw`. */
  rawBytesMax: 12 * 1024 * 1024,
  /** Maximum bytes of a plain response as it is sent, before it is decompressed. */
  wireBytesMax: 12 * 1024 * 1024,
  screenshotBytesMax: 12 * 1024 * 1024,
  pdfBytesMax: 12 * 1024 * 1024,
  redirectsMax: 20,
  robotsBytesMax: 512 * 1024,
} as const;
