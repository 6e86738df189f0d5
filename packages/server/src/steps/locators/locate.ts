/** Finds the elements that a step's locators mean. */
import { parseSelector, type ParsedSelector, type Selector, type Selectors } from '@berth/contract';
import type { ElementRef } from '../../browser/browser.ts';
import type { Attempt, Root } from '../run/attempt.ts';
import type { FindOrder, Found } from '../../page-scripts/find.ts';
import { scripts } from '../scripts.ts';
import { StepFailed } from '../context.ts';

export interface Located {
  elements: readonly ElementRef[];
  /** All that match, of which `elements` may be the first ones. */
  count: number;
  selector: Selector;
}

type Pick = 'one' | 'all';
const one: Pick = 'one';

/** The element that is meant now, or null. @throws StepFailed `invalid_selector`, `frame_not_found` */
export async function locate(attempt: Attempt, selectors: Selectors): Promise<(Located & { element: ElementRef }) | null> {
  const located = await locateFrom(attempt, await attempt.root(), { selectors, pick: one, max: 1 });
  const [element] = located?.elements ?? [];
  if (!located || !element) return null;
  attempt.selectorUsed = located.selector;
  return { ...located, element };
}

/** All elements that the first selector with a match means, at most `max` of them. */
export async function locateAll(attempt: Attempt, selectors: Selectors, max: number): Promise<Located> {
  const located = await locateFrom(attempt, await attempt.root(), { selectors, pick: 'all', max });
  if (located) attempt.selectorUsed = located.selector;
  return located ?? { elements: [], count: 0, selector: selectors[0] ?? '' };
}

/** Waits for the element to be there. */
export async function waitForElement(attempt: Attempt, selectors: Selectors): Promise<ElementRef> {
  return attempt.poll(
    async () => (await locate(attempt, selectors))?.element,
    () => notFound(selectors),
  );
}

export const notFound = (selectors: Selectors): StepFailed => new StepFailed('not_found', `No element matches any of: ${tell(selectors)}.`);

export const tell = (selectors: Selectors): string =>
  selectors
    .map((selector) => (typeof selector === 'string' ? selector : selector.join(' → ')))
    .join(', ')
    .slice(0, 500);

export interface LocateOrder {
  selectors: Selectors;
  pick: Pick;
  max: number;
}

export async function locateFrom(attempt: Attempt, root: Root, { selectors, pick, max }: LocateOrder): Promise<Located | null> {
  for (const group of grouped(selectors)) {
    const located = await locateGroup(attempt, root, { ...group, pick, max });
    if (located) return located;
  }
  return null;
}

/** Selectors in a row that the page's own script can look for are one question. */
interface Group {
  selectors: Selector[];
  kind: 'script' | 'aria' | 'path';
}

function grouped(selectors: Selectors): Group[] {
  const groups: Group[] = [];
  for (const selector of selectors) {
    const single = singleOf(selector);
    const kind = single === null ? 'path' : parsed(single).kind === 'aria' ? 'aria' : 'script';
    const last = groups.at(-1);
    if (last?.kind === 'script' && kind === 'script') last.selectors.push(selector);
    else groups.push({ kind, selectors: [selector] });
  }
  return groups;
}

/** A path of one entry is that entry: the Recorder writes all of its selectors so. */
const singleOf = (selector: Selector): string | null =>
  typeof selector === 'string' ? selector : selector.length === 1 ? (selector[0] ?? null) : null;

function parsed(selector: string): ParsedSelector {
  const { kind, body, role } = parseSelector(selector) ?? invalid(selector, 'it has no form that is known');
  return { kind, body, ...(role === undefined ? {} : { role }) };
}

const invalid = (selector: Selector, why: string): never => {
  throw new StepFailed('invalid_selector', `The selector ${tell([selector])} cannot be read: ${why}.`);
};

/** The selectors as a page's own script takes them; null where one of them is more than that. */
export function toFindOrders(selectors: Selectors): FindOrder[] | null {
  const orders = selectors.map((selector) => {
    const single = singleOf(selector);
    return single === null ? null : parsed(single);
  });
  const plain = orders.filter((order): order is FindOrder => order !== null && order.kind !== 'aria');
  return plain.length === orders.length ? plain.map(({ kind, body }) => ({ kind, body })) : null;
}

async function locateGroup(attempt: Attempt, root: Root, group: Group & { pick: Pick; max: number }): Promise<Located | null> {
  const [selector = ''] = group.selectors;
  if (group.kind === 'path') return locatePath(attempt, root, group);
  if (group.kind === 'aria') return locateByRole(attempt, root, { ...group, selector });
  const orders = toFindOrders(group.selectors) ?? [];
  const { page } = attempt;
  const found = await page.call<Found>(root.frameId, scripts.find, [root.element, orders as never, group.pick, group.max], attempt.call());
  const used = group.selectors[found.index];
  if (found.invalid !== undefined) return invalid(used ?? selector, found.invalid);
  if (used === undefined) return null;
  const elements = attempt.hold(await page.find(root.frameId, scripts.takeFound, [], attempt.call()));
  // The document went away between the two questions.
  return elements.length === 0 ? null : { elements, count: found.count, selector: used };
}

async function locateByRole(
  attempt: Attempt,
  root: Root,
  { selector, pick, max }: { selector: Selector; pick: Pick; max: number },
): Promise<Located | null> {
  const { body, role } = parsed(singleOf(selector) ?? '');
  const { page } = attempt;
  const by = {
    exact: true,
    ...(role === undefined ? {} : { role }),
    ...(body === '' ? {} : { name: body }),
    ...(root.element ? { root: root.element } : {}),
  };
  const found = attempt.hold(await page.findByRole(root.frameId, by, attempt.call()));
  if (found.length === 0) return null;
  if (pick === 'all' || found.length === 1) return { elements: found.slice(0, max), count: found.length, selector };
  const picked = attempt.hold(await page.find(root.frameId, scripts.pickVisible, found.slice(0, 200), attempt.call()));
  return { elements: picked, count: found.length, selector };
}

/** Each entry within what the one before found: a frame element leads into its document, a host into its shadow. */
async function locatePath(
  attempt: Attempt,
  root: Root,
  { selectors: [path = ''], pick, max }: { selectors: Selector[]; pick: Pick; max: number },
): Promise<Located | null> {
  const entries = typeof path === 'string' ? [path] : path;
  let from = root;
  for (const entry of entries.slice(0, -1)) {
    const located = await locateFrom(attempt, from, { selectors: [entry], pick: one, max: 1 });
    const [element] = located?.elements ?? [];
    if (!element) return null;
    const frame = await attempt.page.contentFrame(element, attempt.call());
    from = frame ? { frameId: frame.id, element: null } : { frameId: element.frameId, element };
  }
  const located = await locateFrom(attempt, from, { selectors: entries.slice(-1), pick, max });
  return located && { ...located, selector: path };
}

/** The document at the end of a way through frame elements. @throws StepFailed `frame_not_found` */
export async function enterFrames(attempt: Attempt, root: Root, frames: readonly string[]): Promise<Root> {
  let from = root;
  for (const selector of frames) {
    const located = await locateFrom(attempt, from, { selectors: [selector], pick: one, max: 1 });
    const [element] = located?.elements ?? [];
    const frame = element ? await attempt.page.contentFrame(element, attempt.call()) : null;
    if (!frame) throw new StepFailed('frame_not_found', element ? `${selector} is no frame.` : `No frame matches ${selector}.`);
    from = { frameId: frame.id, element: null };
  }
  return from;
}
