/** Creates the page of a tab. Its state is cached once per tab, however many pages are created for it. */
import type { Viewport } from '@berth/contract';
import type { Connection, Params } from '../cdp/connection.ts';
import type { Display } from '../screencast/display.ts';
import { Accessibility, SnapshotNumbers } from './snapshot/accessibility.ts';
import { Annotator } from './snapshot/annotate.ts';
import { Capture } from './capture.ts';
import { Elements } from './elements.ts';
import { Frames } from './frames.ts';
import { Geometry } from './geometry.ts';
import { moveInHistory, reload, type HistoryDeps } from './navigation/navigate.ts';
import { Input } from '../input/page-input.ts';
import { Network } from './network.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { ExecutionContexts } from './execution-contexts.ts';
import type { Page } from './page.ts';
import { Snapshots } from './snapshot/page-snapshot.ts';
import { contentsCommand, viewportCommand } from '../tabs/settings.ts';
import type { Tab } from '../tabs/tab.ts';

/** The browser itself replies at once; a longer delay is reported as a timeout. */
const settingTimeoutMs = 10_000;

export interface TabDeps {
  connection: Connection;
  tab: Tab;
  display: Display;
  /** Whether the Network domain must stay on afterwards, for settings or listeners. */
  shouldKeepNetwork: () => boolean;
  /** Request headers that the session adds on every page. */
  sessionHeaders: () => Readonly<Record<string, string>>;
  /** undefined: as the session's settings say. */
  userAgentOverride: (userAgent: string | undefined) => Params<'Emulation.setUserAgentOverride'>;
}

/** The browser ends a script at its next loop or call; one that is in native code for longer is not waited for. */
const stopTimeoutMs = 500;

interface PageDeps extends TabDeps {
  navigate: Page['navigate'];
}

export interface PageState {
  frames: Frames;
  contexts: ExecutionContexts;
  geometry: Geometry;
  elements: Elements;
  input: Input;
  capture: Capture;
  network: Network;
  accessibility: Accessibility;
  snapshots: Snapshots;
}

const pageStates = new WeakMap<Tab, PageState>();

/** The page of a tab. */
export function createPage(deps: PageDeps): Page {
  const { connection, tab, navigate, shouldKeepNetwork } = deps;
  const { timeoutScale } = connection;
  const { frames, contexts, elements, input, capture, network, accessibility, snapshots } = pageStateOf(deps);
  const moves: HistoryDeps = { navigation: { connection, tab, shouldKeepNetwork }, frames };
  const deadlineOf = (signal: AbortSignal): Deadline => new Deadline({ signal, timeoutMs: timeoutScale.ms(settingTimeoutMs) });
  return {
    tabId: tab.id,
    timeoutScale,
    closed: tab.closed.signal,
    mouse: input.mouse,
    keyboard: input.keyboard,
    url: () => tab.url,
    mainFrame: () => tab.id,
    frames: ({ signal }) => frames.list(deadlineOf(signal)),
    navigate,
    history: (by, request, { signal }) => moveInHistory(moves, by, { request, signal }),
    reload: (request, { signal }) => reload(moves, request, signal),
    stopScript: ({ signal }) => stopScript(frames, signal),
    call: (frameId, source, args, options) => contexts.call(frameId, source, args, options),
    evaluate: (frameId, expression, options) => contexts.evaluate(frameId, expression, options),
    find: (frameId, source, args, options) => contexts.find(frameId, source, args, options),
    findByRole: (frameId, by, options) => elements.findByRole(frameId, by, options),
    accessibilityTree: (options) => accessibility.tree(options),
    snapshot: (request, options) => snapshots.take(request, options),
    resolveRef: (ref, options) => accessibility.resolve(ref, options),
    contentFrame: (element, options) => elements.contentFrame(element, options),
    contentFrames: (each, options) => elements.contentFrames(each, options),
    frameOwner: (frameId, options) => elements.frameOwner(frameId, options),
    closedShadowRoot: (element, options) => elements.closedShadowRoot(element, options),
    release: (each) => elements.release(each),
    scrollIntoView: (element, options) => elements.scrollIntoView(element, options),
    box: (element, options) => elements.box(element, options),
    toMain: (frameId, points, options) => elements.toMain(frameId, points, options),
    ancestors: (frameId, options) => elements.ancestors(frameId, options),
    receives: (element, at, options) => elements.receives(element, at, options),
    focus: (element, options) => elements.focus(element, options),
    setFiles: (element, paths, options) => elements.setFiles(element, paths, options),
    screenshot: (options, limits) => capture.screenshot(options, limits),
    pdf: (options, limits) => capture.pdf(options, limits),
    setViewport: (viewport, { signal }) => setViewport(deps, frames, { viewport, by: deadlineOf(signal) }),
    setExtraHeaders: (headers, { signal }) => network.setHeaders(headers, deadlineOf(signal)),
    onDialog: (answer) => answerDialogs(tab, answer),
    networkIdle: (options) => network.idle(options),
  };
}

/** The cached state of a tab's page. */
export function pageStateOf(deps: TabDeps): PageState {
  const state = pageStates.get(deps.tab) ?? createPageState(deps);
  pageStates.set(deps.tab, state);
  return state;
}

function createPageState({ connection, tab, ...deps }: TabDeps): PageState {
  const frames = new Frames(connection, tab);
  const contexts = new ExecutionContexts(frames);
  const geometry = new Geometry(frames, contexts);
  const elements = new Elements(frames, contexts, geometry);
  const network = new Network({ connection, frames, ...deps });
  const numbers = SnapshotNumbers.of(connection);
  const accessibility = new Accessibility({ frames, contexts, elements, numbers });
  const capture = new Capture({ frames, contexts, elements, annotator: new Annotator(contexts, accessibility) });
  const snapshots = new Snapshots(tab, accessibility, numbers);
  return { frames, contexts, geometry, elements, input: new Input(frames), capture, network, accessibility, snapshots };
}

async function stopScript({ main, timeoutScale }: Frames, signal: AbortSignal): Promise<void> {
  const by = new Deadline({ signal, timeoutMs: timeoutScale.ms(stopTimeoutMs) });
  await main.send('Runtime.terminateExecution', undefined, by).catch(() => signal.throwIfAborted());
}

async function setViewport(
  { connection, tab, display }: PageDeps,
  frames: Frames,
  { viewport, by }: { viewport: Viewport; by: Deadline },
): Promise<void> {
  const { width, height } = viewport;
  const sent: Promise<unknown>[] = [display.resize(viewport)];
  if (tab.window && (tab.window.width !== width || tab.window.height !== height)) {
    // First, because resizing a window resizes its page.
    const [sizing, size] = contentsCommand(tab.window.id, viewport);
    sent.push(connection.send(sizing, size, { signal: by.signal }));
    Object.assign(tab.window, { width, height });
  }
  const [method, params] = viewportCommand(viewport, display.screenFor(viewport));
  sent.push(frames.main.send(method, params, by));
  await Promise.all(sent);
  tab.viewport = viewport;
}

/** The previous handler is restored afterwards. */
function answerDialogs(tab: Tab, answer: NonNullable<Tab['onDialog']>): () => void {
  const before = tab.onDialog;
  tab.onDialog = answer;
  return () => {
    if (tab.onDialog === answer) tab.onDialog = before;
  };
}
