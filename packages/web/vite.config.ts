import { defineConfig } from 'vite';
import { compress } from './compress.ts';
import { contractData } from './contract-data.ts';

const pages = ['live-view', 'player', 'vnc', 'link-error', 'dashboard'];

/** Files under `/static` have a content hash in their name, so browsers can cache them for ever. The pages' policy forbids inlining. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  appType: 'mpa',
  publicDir: false,
  plugins: [contractData(), compress()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    assetsDir: 'static',
    assetsInlineLimit: 0,
    modulePreload: false,
    license: { fileName: 'licenses.md' },
    rolldownOptions: {
      input: Object.fromEntries(pages.map((page) => [page, `${import.meta.dirname}/${page}.html`])),
      output: {
        entryFileNames: 'static/[name]-[hash].js',
        chunkFileNames: 'static/[name]-[hash].js',
        assetFileNames: 'static/[name]-[hash][extname]',
      },
    },
  },
});
