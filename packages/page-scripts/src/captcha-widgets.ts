/**
 * Detects captchas and fills in answers. Sent as text: these functions use each
 * other and nothing else of this module. A page may name its elements after
 * properties that a script reads, so all reads use the prototypes' getters.
 */
import type { BlockVendor, CaptchaType } from '@berth/contract';

/** How to recognize a captcha widget. */
export interface Widget {
  type: CaptchaType;
  vendor: BlockVendor;
  /** The element that the site or the challenge page provides for the captcha; CSS, like the next three. */
  container: string;
  /** The vendor's frames: a checkbox or a puzzle. */
  frame: string;
  /** The frame of these with the puzzle. */
  challenge: string;
  /** The script that loads the widget. */
  script: string;
  /** Names of the response fields; the vendor's server reads the first. */
  fields: readonly string[];
  /** Attributes of the container with the site key. */
  keyAttributes: readonly string[];
  dataAttribute: string;
  /** Query or fragment parameters of a frame's URL with the site key; otherwise `keyInAddress` matches it in the path. */
  keyParameters: readonly string[];
  keyInAddress: string;
}

/** A captcha in the page. */
export interface CaptchaMatch {
  widget: Widget;
  /** The widget's element; null if only its script was detected. */
  element: Element | null;
  siteKey: string | null;
  visible: boolean;
  /** Whether it requires interaction, now or when a form is submitted. */
  asks: boolean;
}

/** The serializable part of a match. */
export interface CaptchaInfo {
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

/** The document and its open shadow roots, up to a limit. */
export function rootsOf(page: Natives): Node[] {
  const roots: Node[] = [document];
  for (let node = 0, left = 20_000; node < roots.length && roots.length < 100; node += 1) {
    const walker = Document.prototype.createTreeWalker.call(document, roots[node] as Node, NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node && left > 0; node = walker.nextNode(), left -= 1) {
      const root = page.shadowRoot(node);
      if (root) roots.push(root);
    }
  }
  return roots;
}

/** Vendors keep unused frames outside of the window or without a size. */
export function isShown(page: Natives, element: Element): boolean {
  const box = page.rect(element);
  return box.width >= 20 && box.height >= 20 && box.bottom + scrollY > 0 && box.right + scrollX > 0 && page.isDrawn(element);
}

/** An invisible widget is a badge or the submit button itself, until it shows a puzzle. */
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

/** The captchas of one widget, one per site key, in document order. */
export function matchesOf(page: Natives, widget: Widget, roots: Node[]): CaptchaMatch[] {
  const all = (css: string): Element[] => roots.flatMap((root) => page.all(root, css)).slice(0, 50);
  const scripts = all(widget.script);
  // A key in the script's URL only scores visitors and needs no interaction.
  const renderKeys = scripts.map(
    (script) => URL.parse(page.attribute(script, 'src') ?? '', location.href)?.searchParams.get('render') ?? '',
  );
  const scoringKeys = renderKeys.filter((key) => /^[\w-]{1,100}$/.test(key) && key !== 'explicit' && key !== 'onload');
  const matches: CaptchaMatch[] = [];
  for (const element of [...all(widget.container), ...all(widget.frame), ...all(widget.challenge)]) {
    const key = keyOf(page, widget, element);
    const isVisible = isWidgetShown(page, widget, element);
    const asks =
      key === null ||
      !scoringKeys.includes(key) ||
      page.matches(element, widget.container) ||
      (isVisible && page.matches(element, widget.challenge));
    const visible = asks && isVisible;
    const twin = matches.find(({ siteKey }) => key === null || siteKey === null || siteKey === key);
    // A frame belongs to its container; two containers are two captchas.
    const isSameCaptcha =
      twin && !(page.matches(element, widget.container) && twin.element && page.matches(twin.element, widget.container));
    if (!isSameCaptcha) matches.push({ widget, element, siteKey: key, visible, asks });
    else Object.assign(twin, { siteKey: twin.siteKey ?? key, visible: twin.visible || visible, asks: twin.asks || asks });
  }
  if (matches.length === 0 && scripts[0]) {
    matches.push({ widget, element: null, siteKey: scoringKeys[0] ?? keyOf(page, widget, scripts[0]), visible: false, asks: false });
  }
  return matches;
}

/** The most relevant captcha: one that needs interaction, and of these a visible one. */
export function findCaptcha(page: Natives, widgets: readonly Widget[]): CaptchaMatch | null {
  const roots = rootsOf(page);
  const candidates: CaptchaMatch[] = [];
  for (const widget of widgets) {
    const matches = matchesOf(page, widget, roots);
    if (
      matches[0] &&
      widget.type === 'cloudflare_challenge' &&
      matches.some(({ element }) => element && page.matches(element, widget.container))
    )
      return { ...matches[0], visible: matches.some(({ visible }) => visible) };
    if (widget.type !== 'cloudflare_challenge') candidates.push(...matches);
  }
  const rank = ({ asks, visible }: CaptchaMatch): number => (asks ? 2 : 0) + (visible ? 1 : 0);
  return candidates.reduce<CaptchaMatch | null>((best, each) => (best && rank(best) >= rank(each) ? best : each), null);
}

/** The response fields nearest to the captcha; a page may have several captchas. */
export function fieldsOf(page: Natives, { widget, element }: CaptchaMatch): Element[] {
  if (element === null || widget.fields.length === 0) return [];
  const own = page.attribute(element, 'data-response-field-name');
  const names = own === null ? widget.fields : [own, ...widget.fields];
  const css = names.map((name) => `textarea[name="${CSS.escape(name)}"], input[name="${CSS.escape(name)}"]`).join(', ');
  let node: Node | null = element;
  while (node) {
    const fields = page.all(node, css);
    if (fields.length > 0) return fields;
    node = page.parent(node) ?? (node instanceof ShadowRoot ? page.host(node) : null);
  }
  return [];
}

export function valueOf(page: Natives, field: Element): string {
  return (page.name(field) === 'textarea' ? page.areaValue(field) : page.inputValue(field)) ?? '';
}

/** Stores in this document's context which captcha we have answered. */
export function answerState(): { berthCaptchaGiven?: string } {
  return globalThis as { berthCaptchaGiven?: string };
}

export function readCaptcha(widgets: readonly Widget[]): CaptchaInfo | null {
  const page = natives();
  const match = findCaptcha(page, widgets);
  if (!match) return null;
  const { widget, element, siteKey, visible, asks } = match;
  const fields = fieldsOf(page, match);
  const isAnswered = answerState().berthCaptchaGiven === `${widget.type} ${siteKey}`;
  const dataOf = (name: string): string | null => (element && name !== '' ? page.attribute(element, name)?.slice(0, 2048) || null : null);
  return {
    type: widget.type,
    vendor: widget.vendor,
    siteKey,
    visible,
    asks,
    answered: fields.length > 0 ? fields.some((field) => valueOf(page, field) !== '') : isAnswered,
    action: dataOf('data-action'),
    data: dataOf(widget.dataAttribute),
  };
}

/** Fills the answer into the captcha's response fields. Returns the callback name of its container; null if the captcha is not found. */
export function fillAnswer(
  widgets: readonly Widget[],
  type: string,
  siteKey: string | null,
  token: string,
): { filled: number; callback: string | null } | null {
  const page = natives();
  const match = findCaptcha(page, widgets);
  if (!match?.element || match.widget.type !== type || (siteKey !== null && match.siteKey !== null && match.siteKey !== siteKey))
    return null;
  const fields = fieldsOf(page, match);
  if (fields.length === 0) fields.push(...makeField(page, match));
  for (const field of fields) {
    if (page.name(field) === 'textarea') page.setAreaValue(field, token);
    else page.setInputValue(field, token);
    for (const name of ['input', 'change']) page.dispatch(field, new Event(name, { bubbles: true }));
  }
  const callback = page.matches(match.element, match.widget.container) ? page.attribute(match.element, 'data-callback') : null;
  answerState().berthCaptchaGiven = `${match.widget.type} ${match.siteKey}`;
  return { filled: fields.length, callback: callback === null || callback === '' ? null : callback.slice(0, 200) };
}

/** Resets the stored answer, if it could not be delivered. */
export function forgetAnswer(): void {
  delete answerState().berthCaptchaGiven;
}

/** Creates the response field if the vendor's script has not, unless the site disables it. */
export function makeField(page: Natives, { widget, element }: CaptchaMatch): Element[] {
  if (!element || !page.matches(element, widget.container) || page.attribute(element, 'data-response-field') === 'false') return [];
  const name = page.attribute(element, 'data-response-field-name') ?? widget.fields[0];
  let node: Node | null = element;
  while (node && !(node instanceof HTMLFormElement)) node = page.parent(node);
  if (!node || name === undefined) return [];
  const field = page.create('input');
  Element.prototype.setAttribute.call(field, 'type', 'hidden');
  Element.prototype.setAttribute.call(field, 'name', name);
  // An `input` container cannot have children: the field is added to the form.
  page.append(page.name(element) === 'input' ? node : element, field);
  return [field];
}
