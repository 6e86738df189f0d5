/**
 * What a page embeds and Markdown cannot show: players, films, sounds, documents.
 * A link takes its place. It becomes a link only after the main content has been
 * found: there, a block with nothing but a link counts as navigation.
 */
import { collapse, createElement, isElement, markPrefix, setChildren, textIn, type Element, type Parent } from '../dom.ts';
import { isPixel, lazySource } from './pictures.ts';

const mark = `${markPrefix}embed`;
const kinds: ReadonlySet<string> = new Set(
  'iframe frame video audio object embed amp-iframe amp-video amp-audio amp-youtube amp-vimeo lite-youtube lite-vimeo'.split(' '),
);
/** Nobody plays more of one page. */
const embedsMax = 500;
const labelCharsMax = 200;

/** Puts a block with a label in the place of each embed that a reader would see. */
export function markEmbeds(root: Parent): void {
  let left = embedsMax;
  const visit = (parent: Parent): void => {
    let isChanged = false;
    const children = parent.children.map((child) => {
      if (!isElement(child)) return child;
      // No mark is the page's own.
      delete child.attribs[mark];
      if (child.name === 'amp-img') child.name = 'img';
      const block = kinds.has(child.name) && left > 0 ? toBlock(child) : null;
      if (!block) {
        visit(child);
        return child;
      }
      left -= 1;
      isChanged = true;
      return block;
    });
    if (isChanged) setChildren(parent, children);
  };
  visit(root);
}

/** The blocks become links. */
export function linkEmbeds(parent: Parent): void {
  for (const child of parent.children) {
    if (!isElement(child)) continue;
    const address = child.attribs[mark];
    if (address === undefined) linkEmbeds(child);
    else setChildren(child, [createElement('a', { href: address }, textIn(child))]);
  }
}

/** Whether an element stands for an embed: its label is not on the page. */
export const isEmbed = ({ attribs }: Element): boolean => attribs[mark] !== undefined;

/** The block or image for an embed; null for what has no address or is not seen. */
function toBlock(element: Element): Element | null {
  const address = isPixel(element) || isHiddenInPlace(element) ? null : addressOf(element);
  if (address === null) return null;
  if (element.name === 'object' && /^image\//i.test(element.attribs['type'] ?? ''))
    return createElement('img', { src: address, alt: nameOf(element) }, '');
  // The search for the main content replaces blocks, and leaves what is in them.
  const block = createElement('div', {}, '');
  setChildren(block, [createElement('span', { [mark]: address }, nameOf(element) || fileOf(address))]);
  return block;
}

export const isHiddenInPlace = ({ attribs }: Element): boolean =>
  attribs['hidden'] !== undefined ||
  /(?:^|;)\s{0,9}(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden|(?:width|height)\s{0,9}:\s{0,9}[01](?:px)?\s{0,9}(?:;|$))/i.test(
    (attribs['style'] ?? '').slice(0, 2000),
  );

/** Address of what an element embeds; null without one. */
export function addressOf(element: Element): string | null {
  const { name, attribs } = element;
  if (/^(?:lite|amp)-youtube$/.test(name))
    return playerOf('https://www.youtube.com/watch?v=', attribs['videoid'] ?? attribs['data-videoid']);
  if (/^(?:lite|amp)-vimeo$/.test(name)) return playerOf('https://vimeo.com/', attribs['videoid'] ?? attribs['data-videoid']);
  const own = [name === 'object' ? attribs['data'] : attribs['src'], lazySource(element)];
  const inner = element.children.filter(isElement).flatMap((child) => addressesIn(child));
  return [...own, ...inner].map((value) => value?.trim() ?? '').find(isReachable) ?? null;
}

/** Addresses that a child element states: the forms of a film, and the parameters of a plug-in. */
function addressesIn({ name, attribs }: Element): (string | undefined)[] {
  if (name === 'source' || name === 'embed') return [attribs['src']];
  return name === 'param' && /^(?:movie|src|url|filename)$/i.test(attribs['name'] ?? '') ? [attribs['value']] : [];
}

const playerOf = (site: string, id: string | undefined): string | null => (id !== undefined && /^[\w-]{1,64}$/.test(id) ? site + id : null);

const isReachable = (address: string): boolean =>
  address !== '' && address.length <= 8192 && !/^(?!https?:)[a-z][a-z0-9+.-]{0,20}:|^#/i.test(address);

const nameOf = ({ attribs }: Element): string =>
  collapse(attribs['title'] || attribs['aria-label'] || attribs['playlabel'] || '').slice(0, labelCharsMax);

/** The name of the file, or else of the site. */
function fileOf(address: string): string {
  const url = URL.parse(address, 'http://page.invalid/');
  const file = url?.pathname.split('/').findLast((part) => part !== '') ?? url?.hostname ?? address;
  try {
    return decodeURIComponent(file).slice(0, labelCharsMax);
  } catch {
    return file.slice(0, labelCharsMax);
  }
}
