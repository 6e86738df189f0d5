/** Cookie banners of a page, in all its frames and shadow trees. */
import { type ElementRef, type FrameRef, PageError } from '@berth/devtools';
import type { ConsentControl } from '@berth/page-scripts/act/consent.ts';
import type { FlowRun } from '../flow-run.ts';
import { flowScripts } from '../page-scripts.ts';
import { consentTools } from './cookie-banners.ts';
import { consentWords } from './consent-words.ts';

export interface BannerControl extends ConsentControl {
  frameId: string;
  /** Index of the control among those of its frame. */
  index: number;
  /** Selectors from the main frame inwards. */
  path: string[];
}

export interface BannerControls {
  controls: BannerControl[];
  /** Frames that did not answer or are too many. */
  framesUnread: number;
}

/** Pages of advertisements have hundreds of frames; a banner is in one of the first. */
const framesMax = 60;
/** Time limit of one frame, so that one that hangs costs no more. */
const frameMsMax = 2000;
/** Elements that are asked whether they hold a closed shadow root: a call of the browser for each. */
const hostsMax = 40;
/** Maximum depth of closed roots within closed roots. */
const depthMax = 3;
/** Maximum length of `path`: as many entries as a selector may have. */
const pathMax = 8;

/** The buttons of all banners that the page shows now. */
export async function findConsentControls(run: FlowRun): Promise<BannerControls> {
  const page = run.page();
  const frames = await page.frames({ signal: run.signal });
  const read = await Promise.all(frames.slice(0, framesMax).map((frame) => readFrame(run, frame, frames)));
  const controls = read.flatMap((each) => each ?? []);
  return { controls, framesUnread: read.filter((each) => each === null).length + Math.max(0, frames.length - framesMax) };
}

/** The buttons in a frame; null if it does not answer. A frame that has left the page has no banner. */
async function readFrame(run: FlowRun, frame: FrameRef, frames: readonly FrameRef[]): Promise<BannerControl[] | null> {
  try {
    const around = await pathTo(run, frame, frames);
    if (around === null) return [];
    const controls = await controlsIn(run, frame);
    return controls
      .map((control, index) => ({ ...control, frameId: frame.id, index, path: [...around, ...control.selector] }))
      .filter(({ path }) => path.length <= pathMax);
  } catch (error) {
    run.signal.throwIfAborted();
    if (!(error instanceof PageError)) throw error;
    return isReplaced(error) ? [] : null;
  }
}

const isReplaced = ({ reason }: PageError): boolean =>
  reason === 'frame_detached' || reason === 'context_lost' || reason === 'element_detached' || reason === 'not_possible';

const callOptions = (run: FlowRun) => ({ ...run.callOptions(), timeoutMs: Math.max(1, Math.min(frameMsMax, run.leftMs)) });

/** Selectors of the frame elements around a document; null where one of them is not shown. */
async function pathTo(run: FlowRun, frame: FrameRef, frames: readonly FrameRef[]): Promise<string[] | null> {
  const page = run.page();
  const path: string[] = [];
  for (
    let at: FrameRef | undefined = frame;
    at && at.parentId !== null && path.length < pathMax;
    at = frames.find(({ id }) => id === at?.parentId)
  ) {
    const owner = await page.frameOwner(at.id, callOptions(run));
    if (!owner) return null;
    const selector = await page
      .call<string[] | null>(owner.frameId, flowScripts.selectorOfShown, [owner], callOptions(run))
      .finally(() => page.release([owner]));
    if (selector === null) return null;
    path.unshift(...selector);
  }
  return path;
}

async function controlsIn(run: FlowRun, { id, parentId }: FrameRef): Promise<ConsentControl[]> {
  const page = run.page();
  const closed = await closedRoots(run, id);
  const search = { words: consentWords, tools: consentTools, isInFrame: parentId !== null };
  return page
    .call<ConsentControl[]>(id, flowScripts.findConsent, [search as never, ...closed], callOptions(run))
    .finally(() => page.release(closed));
}

/** Closed shadow roots, which only the browser knows. */
async function closedRoots(run: FlowRun, frameId: string): Promise<ElementRef[]> {
  const page = run.page();
  const roots: ElementRef[] = [];
  for (let depth = 0, from: ElementRef[] = []; depth < depthMax; depth += 1) {
    const hosts = await page.find(frameId, flowScripts.possibleHosts, [hostsMax, depth > 0, ...from], callOptions(run));
    const closed = await Promise.all(hosts.map((host) => page.closedShadowRoot(host, callOptions(run)).catch(() => null)));
    page.release(hosts);
    from = closed.filter((root) => root !== null);
    roots.push(...from);
    if (from.length === 0) break;
  }
  return roots;
}

export async function rememberPressed(run: FlowRun, { frameId, index }: BannerControl): Promise<void> {
  await run.page().call(frameId, flowScripts.rememberPressed, [index], callOptions(run));
}

/** Whether the button is still shown; false where its document or its frame has left the page. */
export async function isPressedShown(run: FlowRun, { frameId }: BannerControl): Promise<boolean> {
  try {
    const frames = await run.page().frames({ signal: run.signal });
    const frame = frames.find(({ id }) => id === frameId);
    if (!frame || (await pathTo(run, frame, frames)) === null) return false;
    return await run.page().call<boolean>(frameId, flowScripts.isPressedShown, [], callOptions(run));
  } catch (error) {
    run.signal.throwIfAborted();
    if (error instanceof PageError && isReplaced(error)) return false;
    throw error;
  }
}

/** Switches of the banner that are on: those that a visitor can turn off, as paths, and the number of the others. */
export async function listSwitches(run: FlowRun, control: BannerControl): Promise<{ shown: string[][]; hidden: number }> {
  const around = control.path.slice(0, control.path.length - control.selector.length);
  const { shown, hidden } = await run
    .page()
    .call<{ shown: string[][]; hidden: number }>(control.frameId, flowScripts.listSwitches, [control.index], callOptions(run));
  return { shown: shown.map((selector) => [...around, ...selector]), hidden };
}
