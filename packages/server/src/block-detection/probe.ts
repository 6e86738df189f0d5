/**
 * What the classifier asks of a page in a browser, as a script expression for
 * an isolated world. It reads, never writes, does bounded work and never
 * throws. The page's forms and images can put names of their own before those
 * of the document and of elements, so everything is called by its prototype.
 */
import { captchaMarks } from './captcha-marks.ts';
import { quotingElements } from './markup.ts';
import { rules } from './rules.ts';
import type { DomProbe } from './model.ts';

/** What the script returns. */
export interface Probed extends DomProbe {
  /** Counting stops at `charsMax` and after `nodesMax` text nodes. */
  visibleTextLength: number;
  title: string;
}

/** Ten times what a verdict asks for. */
const charsMax = 5000;
/** A page that hides more text than this before it shows some is told by its marks. */
const nodesMax = 5000;
/** Elements looked at for one selector: the rest are likely the same again. */
const foundMax = 20;
/** A challenge frame waits outside the window, or with no size, until it is needed. */
const sidePxMin = 20;

const selectors = rules.flatMap(({ id, sight }) => {
  const css = sight.kind === 'selector' || sight.kind === 'element' ? sight.css : undefined;
  return css === undefined ? [] : [[id, css]];
});
const marks = captchaMarks.map(({ vendor, challenge, css }) => [vendor, challenge, css]);

export const probeScript = `(() => {
  const result = { selectors: [], visibleCaptcha: null, presentCaptcha: null, visibleTextLength: 0, title: '' };
  const attempt = (work) => { try { work(); } catch {} };
  const isQuoted = (element) => Element.prototype.closest.call(element, '${[...quotingElements].join(', ')}') !== null;
  const find = (css) => Array.from(Document.prototype.querySelectorAll.call(document, css)).slice(0, ${foundMax}).filter((element) => !isQuoted(element));
  const isShown = (element) => {
    const box = Element.prototype.getBoundingClientRect.call(element);
    return box.width >= ${sidePxMin} && box.height >= ${sidePxMin} && box.bottom + scrollY > 0 && box.right + scrollX > 0 &&
      Element.prototype.checkVisibility.call(element, { opacityProperty: true, visibilityProperty: true });
  };
  attempt(() => {
    const title = Object.getOwnPropertyDescriptor(Document.prototype, 'title').get.call(document);
    result.title = String(title).slice(0, 512);
  });
  for (const [id, css] of ${JSON.stringify(selectors)}) {
    attempt(() => { if (find(css).length > 0) result.selectors.push(id); });
  }
  for (const [vendor, isChallenge, css] of ${JSON.stringify(marks)}) {
    attempt(() => {
      const found = find(css);
      if (found.length > 0) result.presentCaptcha ??= vendor;
      if (isChallenge && found.some(isShown)) result.visibleCaptcha ??= vendor;
    });
  }
  attempt(() => {
    const walker = Document.prototype.createTreeWalker.call(document, document, NodeFilter.SHOW_TEXT);
    let chars = 0;
    for (let nodes = 0; nodes < ${nodesMax} && chars < ${charsMax}; nodes += 1) {
      const node = walker.nextNode();
      if (node === null) break;
      const text = node.data.slice(0, ${charsMax}).replace(/\\s+/g, ' ').trim();
      if (text === '' || node.parentElement === null) continue;
      if (Element.prototype.checkVisibility.call(node.parentElement, { opacityProperty: true, visibilityProperty: true })) chars += text.length + 1;
    }
    result.visibleTextLength = Math.min(chars, ${charsMax});
  });
  return result;
})()`;
