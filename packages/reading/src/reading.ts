/** Reads pages without a browser: what they say (`content/`), and whether they are the page or a block (`block-detection/`). */
export * from './content/content.ts';
export * from './block-detection/block-detection.ts';
