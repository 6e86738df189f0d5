/**
 * The classifier's probe of a page in a browser, as a script expression for an
 * isolated world. It only reads, does bounded work and never throws. Forms and
 * images of the page can shadow properties of the document and of elements (DOM
 * clobbering), so everything is called through the prototypes.
 */
import { captchaMarks } from './rules/captcha-marks.ts';
import { quotingElements } from './markup.ts';
import { rules } from './rules/rules.ts';
import type { DomProbe } from './page-info.ts';

/** The value of the probe script. */
export interface ProbeResult extends DomProbe {
  /** Counting stops at `charsMax` and after `nodesMax` text nodes. */
  visibleTextLength: number;
  title: string;
}

/** What is read in the page. `documentStart` identifies the document, which may change after the navigation. */
export interface PageProbe {
  probe: ProbeResult;
  html: string;
  url: string;
  documentStart: number;
  statusCode: number | null;
}

/** Ten times what a classification needs. */
const charsMax = 5000;
/** A page with more hidden text nodes before visible text is classified by its marks. */
const nodesMax = 5000;
/** Elements checked for one selector. */
const elementsMax = 20;
/** A challenge frame waits outside the window, or with no size, until it is needed. */
const sidePxMin = 20;

const selectors = rules.flatMap(({ id, source }) => {
  const css = source.kind === 'selector' || source.kind === 'element' ? source.css : undefined;
  return css === undefined ? [] : [[id, css]];
});
const marks = captchaMarks.map(({ vendor, challenge, css }) => [vendor, challenge, css]);

export const probeScript = `(() => {
  const result = { selectors: [], visibleCaptcha: null, presentCaptcha: null, visibleTextLength: 0, title: '' };
  const attempt = (work) => { try { work(); } catch {} };
  const isQuoted = (element) => Element.prototype.closest.call(element, '${[...quotingElements].join(', ')}') !== null;
  const find = (css) =>
    Array.from(Document.prototype.querySelectorAll.call(document, css)).slice(0, ${elementsMax}).filter((element) => !isQuoted(element));
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
      const elements = find(css);
      if (elements.length > 0) result.presentCaptcha ??= vendor;
      if (isChallenge && elements.some(isShown)) result.visibleCaptcha ??= vendor;
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
      const isVisible = Element.prototype.checkVisibility.call(node.parentElement, { opacityProperty: true, visibilityProperty: true });
      if (isVisible) chars += text.length + 1;
    }
    result.visibleTextLength = Math.min(chars, ${charsMax});
  });
  return result;
})()`;

/** The rules read no more than this. */
const htmlCharsMax = 256 * 1024;
/** JSON escapes double some characters. */
export const probeBytesMax = 4 * htmlCharsMax;
/** Block pages have fewer elements, and serializing more takes long. */
const serializedElementsMax = 20_000;

/** The script expression of a PageProbe, for scripts that read the page's HTML as well. */
export const pageProbeObject = (html: string): string => `({
  probe: ${probeScript},
  html: (${html}).slice(0, ${htmlCharsMax}),
  url: location.href,
  documentStart: performance.timeOrigin,
  statusCode: performance.getEntriesByType('navigation')[0]?.responseStatus || null,
})`;

export const pageProbeScript = `() => {
  const root = document.documentElement;
  const count = Document.prototype.getElementsByTagName.call(document, '*').length;
  const read = Object.getOwnPropertyDescriptor(Element.prototype, 'outerHTML').get;
  return ${pageProbeObject(`root === null || count > ${serializedElementsMax} ? '' : read.call(root)`)};
}`;
