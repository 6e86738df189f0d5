/** One page, to be driven and captured. What is known of a tab is kept once, however many pages are made for it, and goes with it. */
import type { Viewport } from '@berth/contract';
import type { Connection } from '../cdp/connection.ts';
import type { Display } from '../screencast/display.ts';
import { Capture } from './capture.ts';
import { Elements } from './elements.ts';
import { Frames } from './frames.ts';
import { Geometry } from './geometry.ts';
import { moveInHistory, reload, type MoveParts } from './history.ts';
import { Input } from '../input/page-input.ts';
import { Network } from './network.ts';
import { printPdf } from './pdf.ts';
import { Deadline } from './session.ts';
import { Worlds } from './execution-contexts.ts';
import type { Page } from './model.ts';
import { order, viewportOrder } from '../tabs/settings.ts';
import type { Tab } from '../tabs/tab.ts';

/** The browser itself answers at once; a page that is busy for longer is told to be. */
const settingLimitMs = 10_000;

export interface TabParts {
  connection: Connection;
  tab: Tab;
  display: Display;
  /** Whether the Network domain stays on after those who needed it for a while. */
  keepsNetwork: () => boolean;
  /** Request headers that the session adds on every page. */
  sessionHeaders: () => Readonly<Record<string, string>>;
}

export interface PageParts extends TabParts {
  navigate: Page['navigate'];
}

export interface Known {
  frames: Frames;
  worlds: Worlds;
  geometry: Geometry;
  elements: Elements;
  input: Input;
  capture: Capture;
  network: Network;
}

const knownTabs = new WeakMap<Tab, Known>();

/** The page of a tab. */
export function createPage(parts: PageParts): Page {
  const { connection, tab, navigate, keepsNetwork } = parts;
  const { patience } = connection;
  const { frames, worlds, elements, input, capture, network } = knowTab(parts);
  const moves: MoveParts = { connection, frames, keepsNetwork };
  const soon = (signal: AbortSignal): Deadline => new Deadline({ signal, timeoutMs: patience.ms(settingLimitMs) });
  return {
    tabId: tab.id,
    patience,
    gone: tab.gone.signal,
    mouse: input.mouse,
    keyboard: input.keyboard,
    url: () => tab.url,
    mainFrame: () => tab.id,
    frames: ({ signal }) => frames.list(soon(signal)),
    navigate,
    history: (by, order, { signal }) => moveInHistory(moves, by, { order, signal }),
    reload: (order, { signal }) => reload(moves, order, signal),
    call: (frameId, source, args, options) => worlds.call(frameId, source, args, options),
    evaluate: (frameId, expression, options) => worlds.evaluate(frameId, expression, options),
    find: (frameId, source, args, options) => worlds.find(frameId, source, args, options),
    findByRole: (frameId, by, options) => elements.findByRole(frameId, by, options),
    contentFrame: (element, options) => elements.contentFrame(element, options),
    release: (each) => elements.release(each),
    scrollIntoView: (element, options) => elements.scrollIntoView(element, options),
    box: (element, options) => elements.box(element, options),
    receives: (element, at, options) => elements.receives(element, at, options),
    focus: (element, options) => elements.focus(element, options),
    setFiles: (element, paths, options) => elements.setFiles(element, paths, options),
    screenshot: (order, limits) => capture.screenshot(order, limits),
    pdf: (order, limits) => printPdf(frames.main, order, limits),
    setViewport: (viewport, { signal }) => setViewport(parts, frames, { viewport, by: soon(signal) }),
    setExtraHeaders: (headers, { signal }) => network.setHeaders(headers, soon(signal)),
    onDialog: (answer) => answerDialogs(tab, answer),
    networkIdle: (options) => network.idle(options),
  };
}

/** What is known of a tab, by whoever needs a part of it. */
export function knowTab(parts: TabParts): Known {
  const known = knownTabs.get(parts.tab) ?? learn(parts);
  knownTabs.set(parts.tab, known);
  return known;
}

function learn({ connection, tab, keepsNetwork, sessionHeaders }: TabParts): Known {
  const frames = new Frames(connection, tab);
  const worlds = new Worlds(frames);
  const geometry = new Geometry(frames, worlds);
  const elements = new Elements(frames, worlds, geometry);
  const capture = new Capture(frames, worlds, elements);
  const network = new Network({ connection, frames, sessionHeaders, keepsNetwork });
  return { frames, worlds, geometry, elements, input: new Input(frames), capture, network };
}

async function setViewport(
  { connection, tab, display }: PageParts,
  frames: Frames,
  { viewport, by }: { viewport: Viewport; by: Deadline },
): Promise<void> {
  const { width, height } = viewport;
  const sent: Promise<unknown>[] = [display.fit(viewport)];
  if (tab.window && (tab.window.width !== width || tab.window.height !== height)) {
    // First, because a window takes its page along, less its own frame.
    const [sizing, bounds] = order('Browser.setWindowBounds', { windowId: tab.window.id, bounds: { left: 0, top: 0, width, height } });
    sent.push(connection.send(sizing, bounds, { signal: by.signal }));
    Object.assign(tab.window, { width, height });
  }
  const [method, params] = viewportOrder(viewport, display.isThere);
  sent.push(frames.main.send(method, params, by));
  await Promise.all(sent);
  tab.viewport = viewport;
}

/** Whoever answered before answers again afterwards. */
function answerDialogs(tab: Tab, answer: NonNullable<Tab['answersDialogs']>): () => void {
  const before = tab.answersDialogs;
  tab.answersDialogs = answer;
  return () => {
    if (tab.answersDialogs === answer) tab.answersDialogs = before;
  };
}
