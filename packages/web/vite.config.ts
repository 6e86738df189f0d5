import { defineConfig } from 'vite';

const pages = ['live-view', 'player', 'vnc', 'link-error'];

/** Files under `/static` are named by what is in them, so that browsers may keep them for ever. Nothing stands inside a page: its policy forbids it. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  appType: 'mpa',
  publicDir: false,
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
