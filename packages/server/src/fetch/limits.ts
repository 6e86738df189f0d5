/** What one fetch may bring back: a page cannot reach further into the worker's memory. Past each the rest is cut, and `warnings` say so. */
export const limits = {
  /** Of a rendered page's HTML. */
  htmlBytes: 8 * 1024 * 1024,
  /** Of what is no page, and of a page's own bytes. */
  rawBytes: 12 * 1024 * 1024,
  /** Of a plain response on the wire; a compressed one may be larger when it is decoded. */
  wireBytes: 12 * 1024 * 1024,
  pictureBytes: 12 * 1024 * 1024,
  pdfBytes: 12 * 1024 * 1024,
  redirects: 20,
  robotsBytes: 512 * 1024,
} as const;
