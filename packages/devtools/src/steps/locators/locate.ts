/** Resolves a step's selectors to elements. */
import { parseSelector, type ParsedSelector, type Selector, type Selectors } from '@berth/contract';
import { RefError, type ElementRef } from '../../browser/browser.ts';
import type { StepAttempt, Root } from '../run/attempt.ts';
import type { PageSelector, FindResult } from '@berth/page-scripts/locate/find.ts';
import { scripts } from '../scripts.ts';
import { StepError } from '../context.ts';

interface Located {
  elements: readonly ElementRef[];
  /** The number of all matches; `elements` may hold only the first ones. */
  count: number;
  selector: Selector;
}

type Pick = 'one' | 'all';
const one: Pick = 'one';

/** The current element, or null. @throws StepError `invalid_selector`, `frame_not_found` */
export async function locate(attempt: StepAttempt, selectors: Selectors): Promise<(Located & { element: ElementRef }) | null> {
  const root = await attempt.root();
  const located = await locateFrom(attempt, root, { selectors, pick: one, max: 1 });
  const [element] = located?.elements ?? [];
  if (!located || !element) return locateHealed(attempt, root, selectors);
  attempt.selectorUsed = located.selector;
  // A reference belongs to one document, so there is nothing to learn from it.
  if (!isReference(located.selector)) await attempt.healing?.remember(element, selectors, (options) => locateFrom(attempt, root, options));
  return { ...located, element };
}

async function locateHealed(attempt: StepAttempt, root: Root, selectors: Selectors): Promise<(Located & { element: ElementRef }) | null> {
  const healed = await attempt.healing?.heal(root, selectors, (options) => locateFrom(attempt, root, options));
  if (!healed) return null;
  attempt.selectorUsed = healed.selector;
  return { elements: [healed.element], count: 1, ...healed };
}

const isReference = (selector: Selector): boolean => [selector].flat().some((each) => each.startsWith('ref/'));

/** The elements of the first selector with a match, at most `max`. */
export async function locateAll(attempt: StepAttempt, selectors: Selectors, max: number): Promise<Located> {
  const located = await locateFrom(attempt, await attempt.root(), { selectors, pick: 'all', max });
  if (located) attempt.selectorUsed = located.selector;
  return located ?? { elements: [], count: 0, selector: selectors[0] ?? '' };
}

/** Waits until the element exists. */
export async function waitForElement(attempt: StepAttempt, selectors: Selectors): Promise<ElementRef> {
  return attempt.poll(
    async () => (await locate(attempt, selectors))?.element,
    () => notFound(selectors),
  );
}

export const notFound = (selectors: Selectors): StepError =>
  new StepError('not_found', `No element matches any of: ${formatSelectors(selectors)}.`);

export const formatSelectors = (selectors: Selectors): string =>
  selectors
    .map((selector) => (typeof selector === 'string' ? selector : selector.join(' → ')))
    .join(', ')
    .slice(0, 500);

interface LocateOptions {
  selectors: Selectors;
  pick: Pick;
  max: number;
}

export async function locateFrom(attempt: StepAttempt, root: Root, { selectors, pick, max }: LocateOptions): Promise<Located | null> {
  for (const group of groupSelectors(selectors)) {
    const located = await locateGroup(attempt, root, { ...group, pick, max });
    if (located) return located;
  }
  return null;
}

/** Consecutive selectors that one page script can resolve in one call. */
interface Group {
  selectors: Selector[];
  kind: 'script' | 'aria' | 'ref' | 'path';
}

function groupSelectors(selectors: Selectors): Group[] {
  const groups: Group[] = [];
  for (const selector of selectors) {
    const single = toSingle(selector);
    const kind = single === null ? 'path' : kindOf(parse(single));
    const last = groups.at(-1);
    if (last?.kind === 'script' && kind === 'script') last.selectors.push(selector);
    else groups.push({ kind, selectors: [selector] });
  }
  return groups;
}

const kindOf = ({ kind }: ParsedSelector): Group['kind'] => (kind === 'aria' || kind === 'ref' ? kind : 'script');

/** The only entry of a path, which is how the Recorder writes its selectors. */
const toSingle = (selector: Selector): string | null =>
  typeof selector === 'string' ? selector : selector.length === 1 ? (selector[0] ?? null) : null;

function parse(selector: string): ParsedSelector {
  const { kind, body, role } = parseSelector(selector) ?? invalid(selector, 'unknown form');
  return { kind, body, ...(role === undefined ? {} : { role }) };
}

const invalid = (selector: Selector, reason: string): never => {
  throw new StepError('invalid_selector', `The selector ${formatSelectors([selector])} is invalid: ${reason}.`);
};

/** The selectors for the page script; null when it cannot resolve one of them. */
export function toPageSelectors(selectors: Selectors): PageSelector[] | null {
  const pageSelectors = selectors.map((selector) => {
    const single = toSingle(selector);
    return single === null ? null : parse(single);
  });
  const plain = pageSelectors.filter(
    (selector): selector is PageSelector => selector !== null && selector.kind !== 'aria' && selector.kind !== 'ref',
  );
  return plain.length === pageSelectors.length ? plain.map(({ kind, body }) => ({ kind, body })) : null;
}

async function locateGroup(attempt: StepAttempt, root: Root, group: Group & { pick: Pick; max: number }): Promise<Located | null> {
  const [selector = ''] = group.selectors;
  if (group.kind === 'path') return locatePath(attempt, root, group);
  if (group.kind === 'aria') return locateByRole(attempt, root, { ...group, selector });
  if (group.kind === 'ref') return locateRef(attempt, selector);
  const pageSelectors = toPageSelectors(group.selectors) ?? [];
  const { page } = attempt;
  const findIn = (from: ElementRef | null): Promise<FindResult> =>
    page.call(root.frameId, scripts.find, [from, pageSelectors as never, group.pick, group.max], attempt.call());
  const inClosed = root.closedRoot && (await findIn(root.closedRoot));
  const result = inClosed && inClosed.index !== -1 ? inClosed : await findIn(root.element);
  const used = group.selectors[result.index];
  if (result.invalid !== undefined) return invalid(used ?? selector, result.invalid);
  if (used === undefined) return null;
  const elements = attempt.hold(await page.find(root.frameId, scripts.takeMatches, [], attempt.call()));
  // The document was replaced between the two calls.
  return elements.length === 0 ? null : { elements, count: result.count, selector: used };
}

/** A page that draws itself anew is without an element for a moment: it is looked for as often, and then it is stale. */
const refRoundsMax = 4;
const refPauseMs = 100;

/** The element of a reference, in whichever frame it is. @throws RefError */
async function locateRef(attempt: StepAttempt, selector: Selector): Promise<Located> {
  const { body } = parse(toSingle(selector) ?? '');
  for (let round = 1; ; round += 1) {
    try {
      return { elements: attempt.hold([await attempt.page.resolveRef(body, attempt.call())]), count: 1, selector };
    } catch (error) {
      if (!(error instanceof RefError) || error.reason === 'unknown' || round === refRoundsMax || attempt.isOver) throw error;
    }
    await attempt.sleep(refPauseMs);
  }
}

/** As `locate`; null where a reference is stale, because its element is gone. */
export async function locateIfAny(attempt: StepAttempt, selectors: Selectors): ReturnType<typeof locate> {
  try {
    return await locate(attempt, selectors);
  } catch (error) {
    if (error instanceof RefError && error.reason === 'stale') return null;
    throw error;
  }
}

async function locateByRole(
  attempt: StepAttempt,
  root: Root,
  { selector, pick, max }: { selector: Selector; pick: Pick; max: number },
): Promise<Located | null> {
  const { body, role } = parse(toSingle(selector) ?? '');
  const { page } = attempt;
  const by = {
    exact: true,
    ...(role === undefined ? {} : { role }),
    ...(body === '' ? {} : { name: body }),
    ...(root.element ? { root: root.element } : {}),
  };
  const result = attempt.hold(await page.findByRole(root.frameId, by, attempt.call()));
  if (result.length === 0) return null;
  if (pick === 'all' || result.length === 1) return { elements: result.slice(0, max), count: result.length, selector };
  const picked = attempt.hold(await page.find(root.frameId, scripts.pickVisible, result.slice(0, 200), attempt.call()));
  return { elements: picked, count: result.length, selector };
}

/** Each entry is searched within the match of the one before: in the document of a frame, in the shadow root of a host. */
async function locatePath(
  attempt: StepAttempt,
  root: Root,
  { selectors: [path = ''], pick, max }: { selectors: Selector[]; pick: Pick; max: number },
): Promise<Located | null> {
  const entries = typeof path === 'string' ? [path] : path;
  let from = root;
  for (const entry of entries.slice(0, -1)) {
    const located = await locateFrom(attempt, from, { selectors: [entry], pick: one, max: 1 });
    const [element] = located?.elements ?? [];
    if (!element) return null;
    from = await enter(attempt, element);
  }
  const located = await locateFrom(attempt, from, { selectors: entries.slice(-1), pick, max });
  return located && { ...located, selector: path };
}

/** The document of a frame, or the element itself with the tree in it. */
async function enter(attempt: StepAttempt, element: ElementRef): Promise<Root> {
  const { page } = attempt;
  const frame = await page.contentFrame(element, attempt.call());
  if (frame) return { frameId: frame.id, element: null };
  const closedRoot = await page.closedShadowRoot(element, attempt.call());
  if (closedRoot) attempt.hold([closedRoot]);
  return { frameId: element.frameId, element, closedRoot: closedRoot ?? undefined };
}

/** Follows a path of frame elements to a document. @throws StepError `frame_not_found` */
export async function enterFrames(attempt: StepAttempt, root: Root, frames: readonly string[]): Promise<Root> {
  let from = root;
  for (const selector of frames) {
    const located = await locateFrom(attempt, from, { selectors: [selector], pick: one, max: 1 });
    const [element] = located?.elements ?? [];
    const frame = element ? await attempt.page.contentFrame(element, attempt.call()) : null;
    if (!frame) throw new StepError('frame_not_found', element ? `${selector} is not a frame.` : `No frame matches ${selector}.`);
    from = { frameId: frame.id, element: null };
  }
  return from;
}
