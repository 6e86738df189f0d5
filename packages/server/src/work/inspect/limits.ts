/** Bounds on one inspection: what it holds in the worker's memory, and what it asks of a site. */
export const limits = {
  /** Bodies and messages of one capture. */
  capturedBytesMax: 24 * 1024 * 1024,
  messagesMax: 2000,
  /** Maximum size of a page's rendered HTML. */
  snapshotHtmlCharsMax: 2_000_000,
  storageItemsMax: 500,
  storageCharsMax: 16_384,
  screenshotBytesMax: 8 * 1024 * 1024,
  probedBytesMax: 500_000,
} as const;
