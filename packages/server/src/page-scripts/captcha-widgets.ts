/**
 * What runs in the page's isolated world, sent as text: these functions use
 * each other and nothing else of this module. A page may name its elements
 * after what a script reads, so everything is read by the prototypes' getters.
 */
import type { BlockVendor, CaptchaType } from '@berth/contract';

/** How a captcha's widget stands in a page. */
export interface Widget {
  type: CaptchaType;
  vendor: BlockVendor;
  /** What the site, or the wall, has put where the captcha is to be; CSS like the next three. */
  container: string;
  /** What the vendor has drawn: a box to tick, or a puzzle. */
  frame: string;
  /** Of these, the puzzle itself. */
  challenge: string;
  /** What loads the widget: a sign of a captcha to come, and of none yet. */
  script: string;
  /** Names of the fields that carry the answer; the first is the one that the vendor's server side reads. */
  fields: readonly string[];
  /** Attributes of the container. */
  keyAttributes: readonly string[];
  dataAttribute: string;
  /** Query or fragment parameters of a frame's address, and else the part of an address that is the key. */
  keyParameters: readonly string[];
  keyInAddress: string;
}

/** A captcha as the page shows it. */
export interface Found {
  widget: Widget;
  /** Where it stands; null where only its script was seen. */
  element: Element | null;
  siteKey: string | null;
  visible: boolean;
  /** Whether it asks a visitor for anything, now or when a form is sent. */
  asks: boolean;
}

/** The part of it that can be told outside of the page. */
export interface FoundFacts {
  type: Widget['type'];
  vendor: Widget['vendor'];
  siteKey: string | null;
  visible: boolean;
  asks: boolean;
  answered: boolean;
  action: string | null;
  data: string | null;
}

interface Natives {
  parent(node: Node): Node | null;
  name(element: Element): string;
  shadowRoot(node: Node): ShadowRoot | null;
  host(root: ShadowRoot): Element;
  inputValue(field: Element): string;
  areaValue(field: Element): string;
  setInputValue(field: Element, value: string): void;
  setAreaValue(field: Element, value: string): void;
  attribute(element: Element, name: string): string | null;
  matches(element: Element, css: string): boolean;
  rect(element: Element): DOMRect;
  isDrawn(element: Element): boolean;
  append(parent: Node, child: Node): void;
  dispatch(on: EventTarget, event: Event): void;
  create(name: string): Element;
  all(root: Node, css: string): Element[];
}

export function natives(): Natives {
  const getter = (of: object, name: string): ((from: unknown) => never) => {
    const get = Object.getOwnPropertyDescriptor(of, name)?.get;
    return (from) => get?.call(from) as never;
  };
  const setter = (of: object, name: string): ((on: unknown, value: string) => void) => {
    const set = Object.getOwnPropertyDescriptor(of, name)?.set;
    return (on, value) => set?.call(on, value);
  };
  return {
    parent: getter(Node.prototype, 'parentNode'),
    name: getter(Element.prototype, 'localName'),
    shadowRoot: getter(Element.prototype, 'shadowRoot'),
    host: getter(ShadowRoot.prototype, 'host'),
    inputValue: getter(HTMLInputElement.prototype, 'value'),
    areaValue: getter(HTMLTextAreaElement.prototype, 'value'),
    setInputValue: setter(HTMLInputElement.prototype, 'value'),
    setAreaValue: setter(HTMLTextAreaElement.prototype, 'value'),
    attribute: (element, name) => Element.prototype.getAttribute.call(element, name),
    matches: (element, css) => css !== '' && Element.prototype.matches.call(element, css),
    rect: (element) => Element.prototype.getBoundingClientRect.call(element),
    isDrawn: (element) => Element.prototype.checkVisibility.call(element, { opacityProperty: true, visibilityProperty: true }),
    append: (parent, child) => void Node.prototype.appendChild.call(parent, child),
    dispatch: (on, event) => void EventTarget.prototype.dispatchEvent.call(on, event),
    create: (name) => Document.prototype.createElement.call(document, name),
    all: (root, css) => {
      if (css === '') return [];
      const of =
        root instanceof Document ? Document.prototype : root instanceof DocumentFragment ? DocumentFragment.prototype : Element.prototype;
      return Array.from(of.querySelectorAll.call(root as never, css)).slice(0, 50);
    },
  };
}

/** The document and its open shadow roots, as far as a large page goes. */
export function rootsOf(page: Natives): Node[] {
  const roots: Node[] = [document];
  for (let place = 0, left = 20_000; place < roots.length && roots.length < 100; place += 1) {
    const walker = Document.prototype.createTreeWalker.call(document, roots[place] as Node, NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node && left > 0; node = walker.nextNode(), left -= 1) {
      const root = page.shadowRoot(node);
      if (root) roots.push(root);
    }
  }
  return roots;
}

/** A frame waits outside of the window, or with no size, until it is needed. */
export function isShown(page: Natives, element: Element): boolean {
  const box = page.rect(element);
  return box.width >= 20 && box.height >= 20 && box.bottom + scrollY > 0 && box.right + scrollX > 0 && page.isDrawn(element);
}

/** An invisible widget is a badge, or the very button that sends the form, until it has a puzzle to show. */
export function isWidgetShown(page: Natives, widget: Widget, element: Element): boolean {
  const name = page.name(element);
  if (name === 'button' || name === 'input' || page.attribute(element, 'data-size') === 'invisible') return false;
  const isPuzzle = page.matches(element, widget.challenge);
  return (isPuzzle || !/[?&#]size=invisible(?:&|$)/.test(page.attribute(element, 'src') ?? '')) && isShown(page, element);
}

export function keyOf(page: Natives, widget: Widget, element: Element): string | null {
  const isKey = (text: string | null | undefined): text is string => typeof text === 'string' && /^[\w-]{1,100}$/.test(text);
  for (const name of widget.keyAttributes) {
    const key = page.attribute(element, name);
    if (isKey(key)) return key;
  }
  const source = (page.attribute(element, 'src') ?? '').slice(0, 8192);
  const address = URL.parse(source, location.href);
  if (!address) return null;
  for (const parameters of [address.searchParams, new URLSearchParams(address.hash.slice(1))])
    for (const name of widget.keyParameters) if (isKey(parameters.get(name))) return parameters.get(name);
  const inAddress = widget.keyInAddress === '' ? null : new RegExp(widget.keyInAddress).exec(address.pathname);
  return isKey(inAddress?.[1]) ? inAddress[1] : null;
}

/** Those of one widget, one for each site key, in document order. */
export function capturesOf(page: Natives, widget: Widget, roots: Node[]): Found[] {
  const all = (css: string): Element[] => roots.flatMap((root) => page.all(root, css)).slice(0, 50);
  const scripts = all(widget.script);
  // A key that the script is loaded with is one that scores visitors and asks them nothing.
  const loadedWith = scripts.map(
    (script) => URL.parse(page.attribute(script, 'src') ?? '', location.href)?.searchParams.get('render') ?? '',
  );
  const scores = loadedWith.filter((key) => /^[\w-]{1,100}$/.test(key) && key !== 'explicit' && key !== 'onload');
  const found: Found[] = [];
  for (const element of [...all(widget.container), ...all(widget.frame), ...all(widget.challenge)]) {
    const key = keyOf(page, widget, element);
    const isSeen = isWidgetShown(page, widget, element);
    const asks =
      key === null ||
      !scores.includes(key) ||
      page.matches(element, widget.container) ||
      (isSeen && page.matches(element, widget.challenge));
    const visible = asks && isSeen;
    const same = found.find(({ siteKey }) => key === null || siteKey === null || siteKey === key);
    // A frame belongs to the container that it was drawn for; two containers are two captchas.
    const isTwin = same && !(page.matches(element, widget.container) && same.element && page.matches(same.element, widget.container));
    if (!isTwin) found.push({ widget, element, siteKey: key, visible, asks });
    else Object.assign(same, { siteKey: same.siteKey ?? key, visible: same.visible || visible, asks: same.asks || asks });
  }
  if (found.length === 0 && scripts[0]) {
    found.push({ widget, element: null, siteKey: scores[0] ?? keyOf(page, widget, scripts[0]), visible: false, asks: false });
  }
  return found;
}

/** The captcha that stands in the way most: one that asks, and of these one that is seen. */
export function captchaIn(page: Natives, widgets: readonly Widget[]): Found | null {
  const roots = rootsOf(page);
  const found: Found[] = [];
  for (const widget of widgets) {
    const captures = capturesOf(page, widget, roots);
    if (
      captures[0] &&
      widget.type === 'cloudflare_challenge' &&
      captures.some(({ element }) => element && page.matches(element, widget.container))
    )
      return { ...captures[0], visible: captures.some(({ visible }) => visible) };
    if (widget.type !== 'cloudflare_challenge') found.push(...captures);
  }
  const rank = ({ asks, visible }: Found): number => (asks ? 2 : 0) + (visible ? 1 : 0);
  return found.reduce<Found | null>((best, each) => (best && rank(best) >= rank(each) ? best : each), null);
}

/** Its response fields: those nearest to where it stands, for a page may have several. */
export function fieldsOf(page: Natives, { widget, element }: Found): Element[] {
  if (element === null || widget.fields.length === 0) return [];
  const own = page.attribute(element, 'data-response-field-name');
  const names = own === null ? widget.fields : [own, ...widget.fields];
  const css = names.map((name) => `textarea[name="${CSS.escape(name)}"], input[name="${CSS.escape(name)}"]`).join(', ');
  let place: Node | null = element;
  while (place) {
    const fields = page.all(place, css);
    if (fields.length > 0) return fields;
    place = page.parent(place) ?? (place instanceof ShadowRoot ? page.host(place) : null);
  }
  return [];
}

export function valueOf(page: Natives, field: Element): string {
  return (page.name(field) === 'textarea' ? page.areaValue(field) : page.inputValue(field)) ?? '';
}

/** The captcha that we have answered in this document; gone with the document. */
export function givenHere(): { berthCaptchaGiven?: string } {
  return globalThis as { berthCaptchaGiven?: string };
}

export function look(widgets: readonly Widget[]): FoundFacts | null {
  const page = natives();
  const found = captchaIn(page, widgets);
  if (!found) return null;
  const { widget, element, siteKey, visible, asks } = found;
  const fields = fieldsOf(page, found);
  const isGiven = givenHere().berthCaptchaGiven === `${widget.type} ${siteKey}`;
  const told = (name: string): string | null => (element && name !== '' ? page.attribute(element, name)?.slice(0, 2048) || null : null);
  return {
    type: widget.type,
    vendor: widget.vendor,
    siteKey,
    visible,
    asks,
    answered: fields.length > 0 ? fields.some((field) => valueOf(page, field) !== '') : isGiven,
    action: told('data-action'),
    data: told(widget.dataAttribute),
  };
}

/** Puts the answer into the response fields of the captcha, and tells the callback that its container names. */
export function give(
  widgets: readonly Widget[],
  type: string,
  siteKey: string | null,
  token: string,
): { filled: number; callback: string | null } | null {
  const page = natives();
  const found = captchaIn(page, widgets);
  if (!found?.element || found.widget.type !== type || (siteKey !== null && found.siteKey !== null && found.siteKey !== siteKey))
    return null;
  const fields = fieldsOf(page, found);
  if (fields.length === 0) fields.push(...makeField(page, found));
  for (const field of fields) {
    if (page.name(field) === 'textarea') page.setAreaValue(field, token);
    else page.setInputValue(field, token);
    for (const name of ['input', 'change']) page.dispatch(field, new Event(name, { bubbles: true }));
  }
  const callback = page.matches(found.element, found.widget.container) ? page.attribute(found.element, 'data-callback') : null;
  givenHere().berthCaptchaGiven = `${found.widget.type} ${found.siteKey}`;
  return { filled: fields.length, callback: callback === null || callback === '' ? null : callback.slice(0, 200) };
}

/** There was no place for the answer after all. */
export function takeBack(): void {
  delete givenHere().berthCaptchaGiven;
}

/** The field that the vendor would have made, where its script did not come; none where the site wants none. */
export function makeField(page: Natives, { widget, element }: Found): Element[] {
  if (!element || !page.matches(element, widget.container) || page.attribute(element, 'data-response-field') === 'false') return [];
  const name = page.attribute(element, 'data-response-field-name') ?? widget.fields[0];
  let place: Node | null = element;
  while (place && !(place instanceof HTMLFormElement)) place = page.parent(place);
  if (!place || name === undefined) return [];
  const field = page.create('input');
  Element.prototype.setAttribute.call(field, 'type', 'hidden');
  Element.prototype.setAttribute.call(field, 'name', name);
  // Not every container holds children: a button does not send what is in it.
  page.append(page.name(element) === 'input' ? place : element, field);
  return [field];
}
