/** Selectors in a real browser: every form, frames, shadow roots and DOM clobbering. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { stepPage } from '../../../testing/step-page.ts';
import { summarize } from '../../../testing/steps.ts';

// Frames of another site in a process of their own, as with a window.
const page = stepPage({ flags: ['--site-per-process'] });

/** The id of the element of each selector, or the code of its error. A short time has only what is not to be found. */
async function textsAt(html: string, cases: [selector: unknown, expected: string][]): Promise<unknown[]> {
  const extracts = cases.map(([selector, expected]) => ({
    type: 'extract',
    selectors: [selector],
    timeout_ms: expected === 'not_found' ? 1000 : 20_000,
    on_error: 'continue',
    attribute: 'id',
  }));
  const { results } = await page.inPage(html, extracts);
  return results.map(({ output, error }) => output ?? error?.code);
}

it('a locator finds elements by every form of selector', async () => {
  const html =
    `<h1 id=h>Big  <b id=b>Sale</b></h1><form id=f><label for=n>Full name</label><input id=n placeholder="Ann Lee">` +
    `<input id=s type=submit value="Send it">
    <span id=w>Email</span><input id=e aria-labelledby="w h"><input id=a aria-label=Phone></form><p id=p data-testid=note>note` +
    `</p><button id=k>Save as</button><script>"note Phone"</script>`;
  const cases: [unknown, string][] = [
    ['#h', 'h'],
    ['xpath//html/body/h1', 'h'],
    ['//p[@data-testid]', 'p'],
    ['xpath///button', 'k'],
    ['text/sale', 'b'],
    ['text/"Sale"', 'b'],
    ['text/"Big Sale"', 'h'],
    ['text//^big sale$/i', 'h'],
    ['text/send', 's'],
    ['text/"note"', 'p'],
    ['text/"sale"', 'not_found'],
    ['label/full', 'n'],
    ['label/Email Big', 'e'],
    ['label/phone', 'a'],
    ['placeholder/ann', 'n'],
    ['placeholder/"Ann Lee"', 'n'],
    ['testid/note', 'p'],
    ['testid/not', 'not_found'],
    ['aria/Save as[role="button"]', 'k'],
    ['aria/[role="heading"]', 'h'],
    ['aria/Save', 'not_found'],
    ['p:has-text(', 'invalid_selector'],
    ['xpath/[[', 'invalid_selector'],
    ['text//(/', 'invalid_selector'],
  ];
  const ids = await textsAt(html, cases);
  assert.deepEqual(
    ids.map((id, index) => [cases[index]?.[0], id]),
    cases,
  );
});

it('a locator uses the first selector that matches, and its first visible match', async () => {
  page.site.pages.set('/', '<p hidden id=a>x</p><p id=b>x</p><p id=c>x</p><i hidden id=d></i>');
  const steps = [
    { type: 'extract', selectors: ['#none', ['#no', 'b'], 'aria/none', 'p', '#c'], attribute: 'id' },
    { type: 'extract', selectors: ['i'], attribute: 'id' },
    { type: 'extract', selectors: [['p']], attribute: 'id' },
  ];
  const { results } = await page.run([{ type: 'navigate', url: `${page.site.url}/` }, ...steps]);
  assert.deepEqual(
    results.slice(1).map(({ output, selector_used }) => [output, selector_used]),
    [
      ['b', 'p'],
      ['d', 'i'],
      ['b', ['p']],
    ],
  );
});

it('a locator searches open shadow roots, in document order, by paths too', async () => {
  const html =
    `<my-app id=host><i id=light>light</i></my-app><b id=later class=x>Later</b><script>
    const root = host.attachShadow({mode:'open'}); root.innerHTML = '<b id=deep class=x>Deep</b><label>Inner` +
    `<input id=field placeholder=ph></label><my-inner id=inner></my-inner><slot></slot>';
    root.querySelector('#inner').attachShadow({mode:'open'}).innerHTML = '<u id=deepest data-testid=t>Deepest</u>';</script>`;
  const cases: [unknown, string][] = [
    ['.x', 'later'],
    ['pierce/.x', 'deep'],
    ['#field', 'field'],
    ['u', 'deepest'],
    ['text/Deepest', 'deepest'],
    ['label/Inner', 'field'],
    ['placeholder/ph', 'field'],
    ['testid/t', 'deepest'],
    [['my-app', 'my-inner', 'u'], 'deepest'],
    [['#host', '.x'], 'deep'],
    [['#host', 'i'], 'light'],
    [['#host', '#later'], 'not_found'],
  ];
  const ids = await textsAt(html, cases);
  assert.deepEqual(
    ids,
    cases.map(([, id]) => id),
  );
});

it('a locator enters closed shadow roots by paths, and only by them', async () => {
  const html = `<my-app id=host><i id=light class=y>light</i></my-app><script>
    const root = host.attachShadow({mode:'closed'}); root.innerHTML = '<b id=deep class=y>Deep</b><div id=inner></div><iframe id=framed></iframe>';
    root.querySelector('#inner').attachShadow({mode:'closed'}).innerHTML = '<p><u id=deepest>Deepest</u></p>';
    root.querySelector('#framed').srcdoc = '<em id=framed-text>Framed</em>';</script>`;
  const cases: [unknown, string][] = [
    [['#host', '.y'], 'deep'],
    [['#host', ':host > b'], 'deep'],
    [['#host', 'i'], 'light'],
    [['#host', 'div', 'text/Deepest'], 'deepest'],
    [['#host', 'iframe', 'em'], 'framed-text'],
    ['#deep', 'not_found'],
    [['#host', '#deepest'], 'not_found'],
  ];
  assert.deepEqual(
    await textsAt(html, cases),
    cases.map(([, id]) => id),
  );
});

for (const [name, url] of [
  ['of the same site', () => page.site.url],
  ['of another site, in another process', () => page.site.otherUrl],
] as const)
  it(`a locator enters frames ${name}, and steps act in them`, async () => {
    page.site.pages.set(
      '/inner',
      '<button id=go onclick="this.textContent=\'clicked\'">Go</button><input id=in><iframe id=deep srcdoc="' +
        '<p id=deepest>deepest</p>"></iframe>',
    );
    page.site.pages.set(
      '/',
      `<div style="height:1500px">tall</div>` +
        `<iframe id=frame name=f src="${url()}/inner" style="width:400px;height:300px;margin-left:50px"></iframe>`,
    );
    const frame = ['#frame'];
    const { results } = await page.run([
      { type: 'navigate', url: `${page.site.url}/` },
      { type: 'click', selectors: [['iframe', 'text/go']] },
      { type: 'assert', selectors: ['#go'], frame, text: 'clicked' },
      { type: 'fill', selectors: ['#in'], frame, value: 'typed' },
      { type: 'type', selectors: ['#in'], frame, text: '!' },
      { type: 'assert', selectors: ['#in'], frame, value: 'typed!' },
      { type: 'extract', selectors: [['#frame', '#deep', 'p']] },
      { type: 'extract', selectors: ['p'], frame: ['#frame', 'iframe'] },
      { type: 'extract', selectors: ['aria/clicked[role="button"]'], frame },
      { type: 'extract', selectors: ['#go'], timeout_ms: 1000, on_error: 'continue' },
      { type: 'click', selectors: ['#go'], frame: ['#none'], timeout_ms: 1000, on_error: 'continue' },
      { type: 'click', selectors: ['#go'], frame: ['div'], timeout_ms: 1000 },
    ]);
    assert.deepEqual(
      summarize(results.slice(0, 9)),
      ['navigate', 'click', 'assert', 'fill', 'type', 'assert', 'extract', 'extract', 'extract'].map((type) => `${type} ok`),
      JSON.stringify(results),
    );
    assert.deepEqual(
      results.slice(6, 9).map(({ output }) => output),
      ['deepest', 'deepest', 'clicked'],
    );
    assert.deepEqual(summarize(results.slice(9)), [
      'extract error not_found',
      'click error frame_not_found',
      'click error frame_not_found',
    ]);
  });

it('a locator resists DOM clobbering', async () => {
  const html =
    `<img name=querySelectorAll><img name=evaluate><img name=body><form id=f><input name=parentNode>` +
    `<input name=lastChild><input name=shadowRoot>
    <input name=isConnected><input name=getBoundingClientRect id=in placeholder=here><label id=l>Label` +
    `<input name=innerText id=la></label></form>`;
  const cases: [unknown, string][] = [
    ['#in', 'in'],
    ['//form', 'f'],
    ['text/Label', 'l'],
    ['label/Label', 'la'],
    ['placeholder/here', 'in'],
    [['#f', '#in'], 'in'],
    ['pierce/#in', 'in'],
  ];
  const ids = await textsAt(html, cases);
  assert.deepEqual(
    ids,
    cases.map(([, id]) => id),
  );
  const { results } = await page.run([
    { type: 'fill', selectors: ['#in'], value: 'x' },
    { type: 'click', selectors: ['#f'], position: { x: 1, y: 1 } },
    { type: 'assert', selectors: ['#in'], value: 'x' },
  ]);
  assert.deepEqual(summarize(results), ['fill ok', 'click ok', 'assert ok'], JSON.stringify(results));
});
