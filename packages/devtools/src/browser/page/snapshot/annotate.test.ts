import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readPng } from '../../../../testing/images.ts';
import { shownPage } from '../../../../testing/shown-page.ts';
import { createContext, run } from '../../../../testing/steps.ts';
import type { Screenshot, ScreenshotOptions } from '../page.ts';

const hostile = '<style>body { margin: 0 } * { display: revert !important } div { visibility: hidden !important }</style>';
const watch =
  '<script>changes = 0; new MutationObserver((all) => { for (const each of all) for (const node of each.addedNodes) if (node.shadowRoot) changes += 1; }).observe(document, { childList: true, subtree: true })</script>';
const places =
  '<main><button style="margin:40px">Buy</button><a href="/">Home</a></main>' +
  '<section id=card style="position:absolute;left:200px;top:2000px;width:300px;height:100px;background:#fff">' +
  '<button style="position:absolute;left:20px;top:30px;width:100px;height:40px">Pay</button></section>' +
  '<button style="position:absolute;top:5000px">Below</button>';

describe('an annotated picture', () => {
  const shown = shownPage();
  const { call, show } = shown;
  const take = (options: Partial<ScreenshotOptions> = {}): Promise<Screenshot> =>
    shown.page.screenshot({ format: 'png', fullPage: false, scrollFirst: false, ...options }, { ...call(), maxBytes: 20_000_000 });
  const picture = ({ tiles }: Screenshot): string => tiles.map(({ data }) => data.toString('base64')).join();
  const read = (expression: string) => shown.page.evaluate<unknown>(shown.page.mainFrame(), expression, call());
  const named = ({ annotations = [] }: Screenshot): string[] => annotations.map(({ role, name }) => `${role} ${name}`);
  /** Whether a frame of a label, which is never grey, is drawn at the left edge of the place. */
  const isFramed = ({ tiles: [tile], annotations = [] }: Screenshot, name: string): boolean => {
    const { box } = annotations.find((each) => each.name === name) ?? assert.fail(`no annotation of ${name}`);
    const [red, green, blue] = readPng(tile?.data ?? Buffer.alloc(0)).at(box.x, box.y + Math.floor(box.height / 2));
    return Math.max(red, green, blue) - Math.min(red, green, blue) > 60;
  };

  it('an annotated picture shows the references of what is in view, lists them, and leaves the page as it was', async () => {
    await show(hostile + places + watch);
    const [plain, html] = [picture(await take()), await read('document.documentElement.outerHTML')];
    const annotated = await take({ annotate: true });
    assert.deepEqual(named(annotated), ['button Buy', 'link Home']);
    assert.notEqual(picture(annotated), plain);
    assert.deepEqual(
      [await read('document.documentElement.outerHTML'), picture(await take()), await read('changes'), (await take()).annotations],
      [html, plain, 0, undefined],
    );
    const element = await shown.page.resolveRef(annotated.annotations?.[0]?.ref ?? '', call());
    assert.equal(await shown.page.call(element.frameId, '(element) => element.textContent', [element], call()), 'Buy');
    shown.page.release([element]);
    const tooLarge = shown.page.screenshot(
      { format: 'png', fullPage: false, scrollFirst: false, annotate: true },
      { ...call(), maxBytes: 10 },
    );
    await assert.rejects(tooLarge, /too large/);
    assert.equal(await read('document.documentElement.outerHTML'), html);
  });

  it('an annotated picture of a full page has the references of the whole page, at their places in the picture', async () => {
    // A root that is positioned and a page that is scrolled move what stands in it.
    await show(`<style>html { position: relative; top: 7px; margin-left: 5px }</style>${places}`);
    await read('scrollTo(0, 900)');
    const plain = await take({ fullPage: true });
    const annotated = await take({ fullPage: true, annotate: true });
    assert.deepEqual(named(annotated), ['button Buy', 'link Home', 'button Pay', 'button Below']);
    assert.deepEqual([annotated.width, annotated.height], [plain.width, plain.height], 'the labels make the page no larger');
    for (const name of ['Buy', 'Pay', 'Below']) assert.ok(isFramed(annotated, name), name);
  });

  it('an annotated picture of an element has the references in it, at their places in the picture of the element', async () => {
    await show(`<style>body { margin: 0 }</style>${places}`);
    const [element] = await shown.page.find(shown.page.mainFrame(), "() => [document.querySelector('#card')]", [], call());
    const annotated = await take({ element, annotate: true });
    assert.deepEqual([annotated.width, annotated.height], [300, 100]);
    assert.deepEqual(
      annotated.annotations?.map(({ name, box }) => ({ name, box })),
      [{ name: 'Pay', box: { x: 20, y: 30, width: 100, height: 40 } }],
    );
    assert.ok(isFramed(annotated, 'Pay'));
  });

  it('an annotated picture of a page that is scrolled has what is in view, also in a frame of another site', async () => {
    shown.site.pages.set(
      '/in',
      '<style>body{margin:0}</style><button style="position:absolute;left:10px;top:20px;width:90px;height:30px">Send</button>',
    );
    await show(
      `<style>body{margin:0}</style>${places}<iframe src="${shown.site.otherUrl}/in" style="position:absolute;left:100px;top:2200px;border:0"></iframe>`,
    );
    await read('scrollTo(0, 1900)');
    const annotated = await take({ annotate: true });
    assert.deepEqual(named(annotated), ['button Pay', 'button Send']);
    assert.deepEqual(annotated.annotations?.[1]?.box, { x: 110, y: 320, width: 90, height: 30 });
    for (const name of ['Pay', 'Send']) assert.ok(isFramed(annotated, name), name);
  });

  it('an annotated picture with more than 300 references says that it has not all', async () => {
    await show(Array.from({ length: 320 }, (_, at) => `<button style="font-size:6px;padding:0;width:20px">${at}</button>`).join(''));
    const { annotations, warnings } = await take({ annotate: true });
    assert.deepEqual([annotations?.length, warnings], [300, ['annotations_cut']]);
  });

  it('a screenshot step with annotate lists the references, which the next steps accept', async () => {
    await show(
      `${places}<script>for (const each of document.querySelectorAll('button')) each.onclick = () => { document.title = each.textContent }</script>`,
    );
    const content = { for: () => assert.fail('nothing is converted') } as never;
    const context = createContext({ browser: shown.launched.browser, content: { for: () => content } });
    const { results } = await run(context, [{ type: 'screenshot', full_page: true, annotate: true }]);
    const { annotations = [] } = (results[0]?.output ?? {}) as { annotations?: { ref: string; name: string }[] };
    const ref = annotations.find(({ name }) => name === 'Below')?.ref;
    const next = await run(context, [
      { type: 'click', ref },
      { type: 'screenshot', ref, annotate: true },
    ]);
    assert.deepEqual([next.results.map(({ status }) => status), await read('document.title')], [['ok', 'ok'], 'Below']);
    const { annotations: own = [] } = (next.results[1]?.output ?? {}) as { annotations?: { name: string }[] };
    assert.deepEqual(
      own.map(({ name }) => name),
      ['Below'],
    );
  });
});
