/** Elements that are not actionable yet, or never, in a real browser. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { stepPage } from '../../../testing/step-page.ts';

const page = stepPage();

async function inPage(html: string, ...steps: object[]) {
  const { results } = await page.inPage(html, steps);
  return results;
}
const click = (more: object = {}): object => ({ type: 'click', selectors: ['#b'], ...more });
const clicked = { type: 'assert', selectors: ['#b'], text: 'clicked', timeout_ms: 20_000 };
const button = (more = ''): string => `<button id=b onclick="this.textContent='clicked'" ${more}>press</button>`;

const late: [string, string][] = [
  ['comes late', `<div id=d></div><script>setTimeout(() => { d.innerHTML = \`${button()}\` }, 250)</script>`],
  ['is shown late', `${button('hidden')}<script>setTimeout(() => b.hidden = false, 250)</script>`],
  ['is enabled late', `<fieldset disabled id=s>${button()}</fieldset><script>setTimeout(() => s.disabled = false, 250)</script>`],
  ['moves for a while', `<style>@keyframes m{to{transform:translateX(400px)}}</style>${button('style="animation:m .4s linear forwards"')}`],
  [
    'is covered for a while',
    `${button()}<div id=c style="position:fixed;inset:0"></div><script>setTimeout(() => c.remove(), 250)</script>`,
  ],
  ['is far below', `<div style="height:5000px"></div>${button()}`],
  [
    'lies under what sticks to the edge',
    `<div style="position:fixed;bottom:0;height:300px;width:100%;background:red"></div><div style="height:3000px">` +
      `</div>${button()}<div style="height:3000px"></div>`,
  ],
  [
    'is replaced repeatedly',
    `<div id=d>${button()}</div><script>n=0;t=setInterval(()=>{const h=d.innerHTML;d.innerHTML=h;if(++n>10)clearInterval(t)},20)</script>`,
  ],
  [
    'wraps around a line',
    `<div style="width:120px">some words to fill ` +
      `<a id=b href="#" onclick="this.textContent='clicked'">a link that goes on in the next line</a></div>`,
  ],
  ['has another element in it', button().replace('press', '<span>inner</span>')],
];
for (const [what, html] of late)
  it(`a click step clicks an element that ${what}`, async () => {
    const results = await inPage(html, click(), clicked);
    assert.deepEqual(
      results.map(({ status, error }) => [status, error]),
      [
        ['ok', undefined],
        ['ok', undefined],
      ],
    );
  });

const never: [string, string, RegExp][] = [
  ['is not there', '', /^No element matches any of: #b\.$/],
  ['is hidden', button('style="visibility:hidden"'), /<button id="b"> was found, but it is not visible/],
  ['has no size', '<b id=b></b>', /it is not visible/],
  ['is disabled', button('disabled'), /it is disabled/],
  ['is disabled by aria-disabled', `<div aria-disabled=true>${button()}</div>`, /it is disabled/],
  [
    'never stands still',
    `<style>@keyframes m{to{transform:translateX(400px)}}</style>${button('style="animation:m 1s linear infinite"')}`,
    /it moves/,
  ],
  ['is covered', `${button()}<div id=c class="veil" style="position:fixed;inset:0"></div>`, /it is covered by .*veil/],
];
for (const [what, html, message] of never)
  it(`a click step does not click an element that ${what}, and reports it`, async () => {
    // Enough to look at the element more than once: what it lacks is the answer.
    const [result] = await inPage(html, click({ timeout_ms: 1500 }));
    assert.equal(result?.error?.code, what === 'is not there' ? 'not_found' : 'not_actionable');
    assert.match(result?.error?.message ?? '', message);
    assert.ok((result?.duration_ms ?? 0) < 10_000);
  });

it('a click step with force clicks a covered element', async () => {
  const [result] = await inPage(`${button()}<div style="position:fixed;inset:0" onclick="title='veil'"></div>`, click({ force: true }));
  assert.equal(result?.status, 'ok');
});

it('a fill step does not fill a read-only field', async () => {
  const [result] = await inPage('<input readonly id=b>', { type: 'fill', selectors: ['#b'], value: 'x', timeout_ms: 1500 });
  assert.match(result?.error?.message ?? '', /it cannot be edited/);
});

it('a step times out in a page that never answers', async () => {
  const [, result] = await inPage(
    `${button()}<a id=a href="#" onclick="setTimeout(() => { for (;;); }, 0)">hang</a>`,
    // The page hangs only if this click comes in time.
    { type: 'click', selectors: ['#a'], timeout_ms: 3000, on_error: 'continue' },
    click({ timeout_ms: 500 }),
  );
  assert.equal(result?.status, 'error');
  assert.ok((result?.duration_ms ?? 0) < 10_000, String(result?.duration_ms));
});
