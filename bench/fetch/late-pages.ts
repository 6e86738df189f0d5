/** Pages that show their content some time after the load, by all the means that pages have. */
import type { PlainPage, Serving } from './corpus-pages.ts';

const html = 'text/html; charset=utf-8';
const timersMs = [0, 50, 150, 300];
/** Delay between two parts of a streamed page, and before a script that another one imports. */
const networkMs = 100;

interface Means {
  name: string;
  /** Runs in the page; `show()` adds the content. */
  script: string;
  body?: string;
  /** What the script loads, by its path. */
  loads?: Record<string, Serving>;
}

/** Every means begins at the load, as late as the page's own scripts can. */
const atLoad = (statement: string): string => `addEventListener('load', () => { ${statement} });`;

const means: readonly Means[] = [
  ...timersMs.map((ms) => ({ name: `timer of ${ms} ms`, script: atLoad(`setTimeout(show, ${ms});`) })),
  { name: 'timers in a row', script: atLoad('setTimeout(() => setTimeout(() => setTimeout(show, 80), 80), 80);') },
  { name: 'animation frame', script: atLoad('requestAnimationFrame(() => requestAnimationFrame(show));') },
  { name: 'idle callback', script: atLoad('requestIdleCallback(show);') },
  {
    name: 'intersection',
    script: atLoad(
      `new IntersectionObserver((entries) => { if (entries.some(({ isIntersecting }) => isIntersecting)) show(); }).observe(document.querySelector('main'));`,
    ),
  },
  {
    name: 'web component',
    body: '<tide-table></tide-table>',
    script: `class TideTable extends HTMLElement {
      connectedCallback() { this.attachShadow({ mode: 'open' }).append(paragraph()); }
    }
    ${atLoad(`setTimeout(() => customElements.define('tide-table', TideTable), 150);`)}`,
  },
  {
    name: 'hydration',
    body: '<p id="island">The server’s words.</p>',
    script: atLoad(`import('/late/island.js').then(({ hydrate }) => hydrate(show));`),
    loads: {
      '/late/island.js': {
        type: 'text/javascript',
        delayMs: networkMs,
        body: `export function hydrate(show) {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => { document.getElementById('island').remove(); show(); };
          port2.postMessage(null);
        }`,
      },
    },
  },
  {
    name: 'requests in a row, and a timer',
    script: `const ask = (path) => fetch(path).then((answer) => answer.json());
    ${atLoad(`ask('/late/first').then(() => ask('/late/second')).then(() => setTimeout(show, 50));`)}`,
    loads: Object.fromEntries(['/late/first', '/late/second'].map((path) => [path, { type: 'application/json', body: '{}' }])),
  },
];

const textOf = (name: string): string => `So the ${name} brought the evening tide`;

/** The text is put together by the script, so that its source does not contain it. */
function pageOf({ name, script, body = '', loads = {} }: Means): PlainPage {
  const path = `/late/${name.replaceAll(' ', '-').replaceAll(',', '')}`;
  const functions = `const paragraph = () => Object.assign(document.createElement('p'), { textContent: ${wordsOf(name)}.join(' ') });
    const show = () => document.querySelector('main').append(paragraph());`;
  const page = frame(`<h1>The quay in the morning</h1><main>${body}</main><script>${functions}\n${script}</script>`);
  return { name, path, truth: { contains: textOf(name), scripted: true }, servings: { [path]: { type: html, body: page }, ...loads } };
}

const wordsOf = (name: string): string => JSON.stringify(textOf(name).split(' '));

const frame = (body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Late</title></head><body>${body}</body></html>`;

/** The parts of a page in their order; the last one puts a part in its place, as frameworks do that stream. */
function streamed(): PlainPage {
  const name = 'stream';
  const path = '/late/stream';
  const [start = '', end = ''] = frame('<h1>The quay in the morning</h1><main></main>|').split('|');
  const parts = [
    start,
    `<template id="part"><p>${textOf(name)}</p></template>`,
    `<script>document.querySelector('main').append(document.getElementById('part').content)</script>${end}`,
  ];
  return { name, path, truth: { contains: textOf(name), scripted: true }, servings: { [path]: { type: html, parts, partsMs: networkMs } } };
}

export const latePages: readonly PlainPage[] = [...means.map(pageOf), streamed()];
