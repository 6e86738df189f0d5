/** The next page of a list, in the forms that sites have: it is followed to the end, once each. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { runAgent } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

interface Output {
  items: { text: string }[];
  pages: number;
  stop_reason: string;
}
type Nav = (n: number, link: (n: number) => string) => string;

const last = 3;
const list = (n: number): string => `<ul id="list"><li>Item ${n}a</li><li>Item ${n}b</li></ul>`;

/** Navigations of pages with addresses. On the last page each says in its own way that it is the last. */
const linked: Record<string, Nav> = {
  'a link with rel=next': (n, link) => (n < last ? `<a rel="nofollow next" href="${link(n + 1)}"><svg></svg></a>` : ''),
  'rel=next in the head': (n, link) => (n < last ? `<link rel="next" href="${link(n + 1)}">` : ''),
  'aria-label of an icon': (n, link) =>
    `<a href="${link(n - 1)}" aria-label="Previous page">‹</a>${n < last ? `<a href="${link(n + 1)}" aria-label="Next page"><svg></svg></a>` : ''}`,
  'title of an icon': (n, link) =>
    `<a title="Zurück" href="${link(n - 1)}">‹</a>${n < last ? `<a title="Nächste Seite" href="${link(n + 1)}">⟩</a>` : ''}`,
  'a symbol among numbers': (n, link) =>
    `<div><a href="/">Home</a> › <b>List</b></div><p>${[1, 2, 3].map((k) => `<a href="${link(k)}">${k}</a>`).join('')}${n < last ? `<a href="${link(n + 1)}">›</a>` : ''}<a href="${link(3)}">»</a></p>`,
  'a symbol in a list named as pages': (n, link) =>
    `<ul class="pagination"><li><a href="${link(n - 1)}">&laquo;</a></li>${n < last ? `<li><a href="${link(n + 1)}">&raquo;</a></li>` : ''}</ul>`,
  'an arrow': (n, link) =>
    `<nav aria-label="Pages"><a href="${link(n - 1)}">←</a>${n < last ? `<a href="${link(n + 1)}">→</a>` : ''}</nav>`,
  'a link of the last page to itself': (n, link) =>
    `<nav><a class="next" aria-label="Next page" href="${link(Math.min(last, n + 1))}">›</a></nav>`,
  'numbered pages with aria-current': (n, link) =>
    `<nav aria-label="Pages">${[1, 2, 3].map((k) => (k === n ? `<a aria-current="page" href="${link(k)}">${k}</a>` : `<a href="${link(k)}">${k}</a>`)).join(' ')}</nav>`,
  'numbered pages with the current one as text': (n, link) =>
    `<p class="pages">${[1, 2, 3].map((k) => (k === n ? `<strong>${k}</strong>` : `<a href="${link(k)}">${k}</a>`)).join(' ')}</p>`,
  'a disabled link on the last page': (n, link) =>
    `<ul class="pager"><li class="${n === last ? 'disabled' : ''}"><a href="${link(n + 1)}">Next ›</a></li></ul>`,
  'an aria-disabled link on the last page': (n, link) => `<a ${n === last ? 'aria-disabled="true"' : ''} href="${link(n + 1)}">Next</a>`,
  'a label among a slider and a trail': (n, link) =>
    `<div class="carousel"><a href="/slide" class="next">Next</a></div><div><a href="/">Home</a> <a href="/list">></a></div>${n < last ? `<div><a href="${link(n + 1)}">Next page &gt;</a></div>` : ''}`,
  'an icon of a font': (n, link) =>
    n < last ? `<nav class="Pagination"><a href="${link(n + 1)}"><i class="material-icons">chevron_right</i></a></nav>` : '',
  'a class among numbers': (n, link) =>
    `<div><a href="${link(1)}">1</a><a class="btn btn--next" href="${n < last ? link(n + 1) : link(n)}"><svg></svg></a></div>`,
};

const labels: Record<string, [next: string, previous: string]> = {
  English: ['Next page, page 2', 'Previous page'],
  German: ['Weiter »', '« Zurück'],
  French: ['Suivant', 'Précédent'],
  Spanish: ['Siguiente >', '< Anterior'],
  Italian: ['Pagina successiva', 'Pagina precedente'],
  Portuguese: ['PRÓXIMA', 'ANTERIOR'],
  Dutch: ['Volgende', 'Vorige'],
  Polish: ['Następna →', '← Poprzednia'],
  Russian: ['Следующая', 'Предыдущая'],
  Turkish: ['SONRAKİ', 'ÖNCEKİ'],
  Japanese: ['次のページへ', '前のページへ'],
  Chinese: ['下一页', '上一页'],
  Korean: ['다음', '이전'],
  Swedish: ['Nästa', 'Föregående'],
  Czech: ['Další', 'Předchozí'],
};

/** Scripts that draw the list at the place: \`page(n)\` shows a page, \`more()\` adds one. */
const drawn: Record<string, string> = {
  'href="#" with a handler and a disabled item at the end': `<ul class="pagination"><li><a href="#" id="previous">Prev</a></li><li id="item"><a href="#" id="next">Next</a></li></ul>
    <script>next.onclick = (event) => { event.preventDefault(); setTimeout(() => { if (n < ${last}) show(++n); item.className = n === ${last} ? 'page-item disabled' : '' }, 300) }</script>`,
  'a javascript: address': `<a href="javascript:turn()">Weiter</a><script>function turn() { if (n < ${last}) show(++n); if (n === ${last}) document.querySelector('a').remove() }</script>`,
  'a button that is disabled at the end': `<button id="previous">‹</button><button id="next" aria-label="Next">›</button>
    <script>next.onclick = () => setTimeout(() => { show(++n); next.disabled = n === ${last} }, 700)</script>`,
  'a button that loads more, and goes': `<button id="more">Load more (4)</button>
    <script>more.onclick = () => { more.disabled = true; setTimeout(() => { list.innerHTML += items(++n); more.disabled = false; if (n === ${last}) more.remove() }, 300) }</script>`,
  'a link that loads more, with an address': `<aside><a href="/other">Mehr anzeigen</a></aside><a href="/other" id="more">Weitere Ergebnisse anzeigen</a>
    <script>more.onclick = (event) => { event.preventDefault(); list.innerHTML += items(++n); if (n === ${last}) more.remove() }</script>`,
  'a button in a shadow root': `<div id="host"></div><script>
    const root = host.attachShadow({ mode: 'open' });
    root.innerHTML = '<p><button>Previous</button></p><p><span><button class="go">もっと見る</button></span></p>';
    root.querySelector('.go').onclick = () => { list.innerHTML += items(++n); if (n === ${last}) root.querySelector('.go').remove() }</script>`,
  'numbers that are buttons': `<div class="pages"></div><script>
    const pages = document.querySelector('.pages');
    const draw = () => { pages.innerHTML = [1, 2, 3].map((k) => '<button' + (k === n ? ' aria-current="true"' : '') + '>' + k + '</button>').join('');
      for (const button of pages.children) button.onclick = () => { n = Number(button.textContent); show(n); draw() } };
    draw()</script>`,
  'an item with the title, and a button with an icon': `<ul class="ant-pagination"><li title="Next Page" id="item"><button type="button"><svg width="9" height="9"></svg></button></li></ul>
    <script>item.firstChild.onclick = () => { show(++n); item.firstChild.disabled = n === ${last} }</script>`,
};
const script = `<script>let n = 1; const list = document.getElementById('list');
  const items = (n) => '<li>Item ' + n + 'a</li><li>Item ' + n + 'b</li>'; const show = (n) => { list.innerHTML = items(n) }</script>`;

let site: Site;
let service: Service;
let client: Client;
before(async () => {
  const html = (body: string) => (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page('List', body));
  const serveLinked =
    (path: string, nav: Nav) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      const n = Number(new URL(request.url ?? '', 'http://site').searchParams.get('page') ?? 1);
      html(list(n) + nav(n, (k) => (k < 1 ? path : `${path}?page=${k}`)))(request, response);
    };
  const byLabel =
    ([next, previous]: [string, string]): Nav =>
    (n, link) =>
      `<p><a href="${link(n - 1)}">${previous}</a></p>${n < last ? `<p><a href="${link(n + 1)}">${next}</a></p>` : ''}`;
  site = await startSite({
    pages: Object.fromEntries([
      ...Object.values(linked).map((nav, index) => [`/linked/${index}`, serveLinked(`/linked/${index}`, nav)]),
      ...Object.values(labels).map((words, index) => [`/label/${index}`, serveLinked(`/label/${index}`, byLabel(words))]),
      ...Object.values(drawn).map((body, index) => [`/drawn/${index}`, html(list(1) + script + body)]),
      ['/round', serveLinked('/round', (n, link) => `<a href="${link((n % last) + 1)}">Next</a>`)],
      ['/none', html(`${list(1)}<p><a href="/second">Next of kin</a> <a href="/second">Read more</a> <a href="/second">Previous</a></p>`)],
    ]),
  });
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
  client = service.client;
});
after(async () => {
  await service.close();
  await site.close();
});

async function paginate(path: string): Promise<Output> {
  const inputs = { url: site.url + path, item: { selectors: ['#list li'] }, max_pages: 8 };
  const { body, status, text } = await client.call(runAgent, { body: { task: 'paginate', inputs, max_steps: 300 } });
  assert.equal(status, 200, text);
  assert.equal(body.status, 'ok', JSON.stringify([body.error, body.steps.at(-1)]));
  return body.output as Output;
}

async function readsAll(path: string, stopReason = 'no_next'): Promise<void> {
  const output = await paginate(path);
  const texts = output.items.map(({ text }) => text);
  assert.deepEqual(
    texts,
    [1, 2, 3].flatMap((n) => [`Item ${n}a`, `Item ${n}b`]),
    JSON.stringify(output),
  );
  assert.deepEqual([output.pages, output.stop_reason], [last, stopReason]);
}

describe('the next page', { concurrency: 3 }, () => {
  for (const [index, form] of Object.keys(linked).entries())
    it(`the next page is opened by ${form}`, index % 2 === 0 ? {} : nightly, () => readsAll(`/linked/${index}`));
  for (const [index, language] of Object.keys(labels).entries())
    it(`the next page is opened by its label in ${language}`, index % 4 === 0 ? {} : nightly, () => readsAll(`/label/${index}`));
  for (const [index, form] of Object.keys(drawn).entries())
    it(`the next page is drawn by ${form}`, index % 2 === 0 ? {} : nightly, () => readsAll(`/drawn/${index}`));

  it('pagination stops where the last page leads to the first', () => readsAll('/round', 'repeat'));

  it('pagination stops with no_next where there is no next page', async () => {
    const { pages, stop_reason } = await paginate('/none');
    assert.deepEqual([pages, stop_reason], [1, 'no_next']);
  });
});
