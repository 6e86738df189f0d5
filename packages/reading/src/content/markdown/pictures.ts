/** The address of a picture, which many pages load only when it comes into view. */
import { isElement, parse, setChildren, textIn, elementsNamed, type CheerioAPI, type Element, type Parent } from '../dom.ts';

/** Attributes of loaders, the address of the full picture first. */
const lazySources =
  `data-src data-original data-lazy-src data-lazy data-lazyload data-lazy-load data-lazy-original data-original-src data-orig-src data-orig-file
   data-actualsrc data-actual-src data-real-src data-realsrc data-img-src data-image-src data-img data-image data-hi-res-src data-hires data-full-src
   data-large-file data-srv data-url data-echo data-ll-src data-cfsrc data-runner-src data-delayed-url data-defer-src data-flickity-lazyload
   data-owl-src data-pin-media datasrc lazy-src lazysrc ng-src v-lazy`.split(/\s+/);
const lazySourceSets = [
  'srcset',
  'data-srcset',
  'data-lazy-srcset',
  'data-original-set',
  'data-ll-srcset',
  'data-flickity-lazyload-srcset',
  'lazy-srcset',
];
/** Words in names of attributes for what stands in for a picture, or for another picture. */
const otherPicture = /fallback|error|placeholder|thumb|lqip|blur|default|low|icon|avatar|poster|preview/;

/** Attributes of unknown loaders, by their value. */
function isPictureFile([name, value]: [string, string]): boolean {
  if (!name.startsWith('data-') || otherPicture.test(name) || value.length > 2000) return false;
  const address = value.trim();
  return isAddress(address) && !/[\s"'<>{}]/.test(address) && /\.(?:avif|gif|jpe?g|png|svg|webp)$/i.test(address.split(/[?#]/, 1)[0] ?? '');
}

/** Matches addresses of what stands in the place of a picture until it is loaded. */
const placeholder =
  /^(?:data:|about:|#|javascript:)|(?:blank|spacer|placeholder|transparent|pixel|1x1|loading|lazy)[\w-]{0,20}\.(?:gif|png|svg|jpe?g|webp)/i;
const isPlaceholder = (address: string): boolean => placeholder.test(address.slice(0, 2000));
const isAddress = (value: string | undefined): value is string => value !== undefined && value !== '' && !isPlaceholder(value);

/** The address of a picture; undefined without any. */
export function pictureSource(element: Element): string | undefined {
  const src = element.attribs['src']?.trim() ?? '';
  if (isAddress(src)) return src;
  return lazySource(element) ?? (/^(?:data:|about:|javascript:|#|$)/.test(src) ? undefined : src);
}

/** The address that a loader is to put in the place of the placeholder. */
export function lazySource(element: Element): string | undefined {
  const { attribs } = element;
  const sets = [element, ...sourcesBeside(element)].flatMap((one) => lazySourceSets.map((name) => largestOf(one.attribs[name])));
  return (
    lazySources.map((name) => attribs[name]?.trim()).find((value) => isAddress(value) && !/[\s{[]/.test(value)) ??
    sets.find((value) => value !== '') ??
    Object.entries(attribs).find(isPictureFile)?.[1].trim()
  );
}

const sourcesBeside = ({ parent }: Element): Element[] =>
  parent !== null && 'name' in parent && parent.name === 'picture'
    ? parent.children.filter(isElement).filter(({ name }) => name === 'source')
    : [];

const sourceSetCharsMax = 20_000;

/** The address of the largest picture in a `srcset`, or ''. */
function largestOf(set: string | undefined): string {
  let [largest, size] = ['', -1];
  for (const candidate of (set ?? '').slice(0, sourceSetCharsMax).split(/,\s+|,(?=https?:|\/)/)) {
    const [address = '', descriptor = '1x'] = candidate.trim().split(/\s+/);
    const own = Number.parseFloat(descriptor);
    if (address !== '' && !isPlaceholder(address) && own > size) [largest, size] = [address.replace(/,$/, ''), own];
  }
  return largest;
}

/** Whether a picture has one pixel, which counts visits. */
export const isPixel = ({ attribs: { width, height } }: Element): boolean =>
  /^[01](?:px)?$/.test(width ?? '') || /^[01](?:px)?$/.test(height ?? '');

/** Pages with more of them have them in their head. */
const noscriptsMax = 1000;
const noscriptCharsMax = 5000;

/** Gives a picture that only waits for its loader the address that `<noscript>` beside it has for readers without scripts. */
export function readNoscriptPictures($: CheerioAPI): void {
  for (const noscript of elementsNamed($, 'noscript').slice(0, noscriptsMax)) {
    const { parent } = noscript;
    const source = textIn(noscript);
    if (parent === null || !isElement(parent) || source.length > noscriptCharsMax || !/<img\b/i.test(source)) continue;
    const [picture] = elementsNamed(parse(source), 'img').filter((image) => !isPixel(image) && pictureSource(image) !== undefined);
    if (!picture) continue;
    const beside = picturesIn(parent);
    const waiting = beside.find((image) => !isAddress(image.attribs['src']?.trim()) && lazySource(image) === undefined);
    if (waiting) waiting.attribs['src'] = pictureSource(picture) ?? '';
    else if (beside.length === 0 && !/^(?:body|head)$/.test(parent.name)) replace(noscript, picture);
  }
}

/** Pictures in the element itself, or one level below, as in `<div><picture><img></picture><noscript>…`. */
function picturesIn({ children }: Parent): Element[] {
  const own = children.filter(isElement);
  return own.flatMap((child) => (child.name === 'img' ? [child] : child.children.filter(isElement).filter(({ name }) => name === 'img')));
}

function replace(element: Element, by: Element): void {
  const parent = element.parent as Parent;
  setChildren(
    parent,
    parent.children.map((child) => (child === element ? by : child)),
  );
}
