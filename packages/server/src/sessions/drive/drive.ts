/** Drives a session's browser over HTTP: navigation, tabs, steps, screenshots, content, files, events, IP rotation. */
import {
  ServiceError,
  type ComputerRequest,
  type ComputerResult,
  type ConsoleLineResponse,
  type NavigateRequest,
  type OpenTabRequest,
  type PdfRequest,
  type RunActionsRequest,
  type ScreenshotRequest,
  type SnapshotResponse,
  type StorageState,
} from '@berth/contract';
import type { Har } from 'har-format';
import { type DownloadInfo, type TabInfo, countSteps, useComputer } from '@berth/devtools';
import type { CaptchaTabState, Captchas } from '../captcha/captcha.ts';
import type { Content } from '@berth/reading';
import type { RotationResult } from '@berth/egress';
import type { Clock } from '@berth/lib/clock.ts';
import type { Metering } from '../../accounts/metering/metering.ts';
import type { Machine, RunningSession, Sessions, SessionEvent, UploadedFile } from '../sessions/sessions.ts';
import { runActions, toActionsOptions, type ActionsResult } from './actions.ts';
import { convertSnapshot, takeSnapshot, type ContentOptions, type PageContent, type PageSnapshot } from './content.ts';
import { printPage, takeScreenshot, type ScreenshotResult } from './capture.ts';
import { Consoles } from './records/console.ts';
import { Digests, openDownload, type DownloadedFile } from './records/downloads.ts';
import { withServiceErrors } from './errors.ts';
import { EventFeed } from './records/events.ts';
import { toHar } from './records/har.ts';
import { openTab } from './open-tab.ts';
import { takePageSnapshot, type SnapshotQuery } from './snapshot.ts';
import { navigate, type NavigationReport, type NavigateResult } from './navigate.ts';
import { runAction, type Cost, type Target } from './run-action.ts';
import { tabIdOf } from './step-context.ts';

export { Digests, toFileReply } from './records/downloads.ts';
export { captureScreenshot, type ScreenshotOptions } from './capture.ts';
export { toHar, toHarEntry, type HarPage } from './records/har.ts';
export { createStepContext, type StepContextDeps } from './step-context.ts';
export { solveCaptcha, type SolveCaptchaResult } from './solve.ts';
export type { Target } from './run-action.ts';
export { loadWarnings, toProbedPage, type NavigationReport } from './navigate.ts';

export interface DriveDeps {
  sessions: Sessions;
  metering: Metering;
  clock: Clock;
  content: Pick<Content, 'for'>;
  captchas: Captchas;
  /** Whether steps may run a caller's JavaScript in a page. */
  allowEvaluate: boolean;
}

export class Drive {
  readonly #deps: DriveDeps;
  readonly #consoles: Consoles;
  readonly #digests = new Digests();
  readonly #listeners: ((navigated: NavigationReport) => void)[] = [];

  constructor(deps: DriveDeps) {
    this.#deps = deps;
    this.#consoles = new Consoles(deps.clock);
  }

  /** Called after each navigation, whether it succeeded or failed, before its caller gets the result. */
  onNavigated(listener: (navigated: NavigationReport) => void): void {
    this.#listeners.push(listener);
  }

  /** @throws ServiceError navigation_failed, tab_not_found, and what any drive call throws */
  navigate(target: Target, request: NavigateRequest): Promise<NavigateResult> {
    const report = (navigated: NavigationReport): void => this.#listeners.forEach((listener) => listener(navigated));
    return runAction(this.#deps, target, { name: 'navigate', url: request.url }, (machine, signal, session) =>
      navigate({ ...this.#deps, machine, session, report }, { ...request, owner: target.owner }, signal),
    );
  }

  /** Oldest first. Not queued behind drive calls. */
  async tabs(target: Target): Promise<TabInfo[]> {
    const { machine } = await this.#ready(target);
    return machine.browser.refreshTabs();
  }

  /** Opens a tab and navigates it to `request.url` if set, within one deadline. Closes the tab when that fails. */
  openTab(target: Target, request: OpenTabRequest): Promise<TabInfo> {
    return runAction(this.#deps, target, { name: 'open_tab', url: request.url }, ({ browser }, signal) =>
      openTab({ browser, clock: this.#deps.clock }, request, signal),
    );
  }

  closeTab(target: Target, tabId: string): Promise<void> {
    return runAction(this.#deps, target, { name: 'close_tab', cost: null }, ({ browser }, signal) => browser.closeTab(tabId, { signal }));
  }

  /** A rotation that changes nothing is free, and one that cannot change anything needs no credits. */
  rotateIp(target: Target): Promise<RotationResult> {
    const rotation = { count: 1, countOf: ({ rotated }: RotationResult) => (rotated ? 1 : 0) };
    const cost = ({ egress }: Machine): Cost<RotationResult> | null => (egress.canRotate ? rotation : null);
    return runAction(this.#deps, target, { name: 'rotate_ip', cost }, ({ egress }, signal) => egress.rotate(signal));
  }

  /** Failed steps are reported in the results. @throws ValidationError for an invalid recording */
  async runActions(target: Target, request: RunActionsRequest): Promise<ActionsResult> {
    const options = toActionsOptions(request);
    const cost = { count: atLeastOne(countSteps(options.steps)), countOf: ({ ran }: ActionsResult) => atLeastOne(ran) };
    return runAction(this.#deps, target, { name: 'actions', cost }, (machine, signal, session) =>
      runActions({ ...this.#deps, machine, session }, options, signal),
    );
  }

  /** Failed actions are reported in the result. @throws ServiceError page_failed, tab_not_found */
  computer(target: Target, request: ComputerRequest): Promise<ComputerResult> {
    const cost = { count: atLeastOne(request.actions.length), countOf: ({ results }: ComputerResult) => atLeastOne(results.length) };
    return runAction(this.#deps, target, { name: 'computer', cost }, ({ browser }, signal) => useComputer(browser, request, { signal }));
  }

  /** @throws ServiceError page_failed, tab_not_found */
  screenshot(target: Target, request: ScreenshotRequest): Promise<ScreenshotResult> {
    return runAction(this.#deps, target, { name: 'screenshot' }, (machine, signal, session) =>
      takeScreenshot({ ...this.#deps, machine, session }, request, signal),
    );
  }

  /** @throws ServiceError page_failed, tab_not_found, ref_not_found, stale_ref */
  snapshot(target: Target, query: SnapshotQuery): Promise<SnapshotResponse> {
    return runAction(this.#deps, target, { name: 'snapshot' }, (machine, signal, session) =>
      takePageSnapshot({ ...this.#deps, machine, session }, query, signal),
    );
  }

  pdf(target: Target, request: PdfRequest): Promise<Buffer> {
    return runAction(this.#deps, target, { name: 'pdf' }, ({ browser }, signal) =>
      printPage(browser.page(tabIdOf(browser, request.tab_id)), request, signal),
    );
  }

  /** Only the snapshot holds the session's queue; the conversion runs outside it. */
  content(target: Target, options: ContentOptions): Promise<PageContent> {
    const finish = (page: PageSnapshot): Promise<PageContent> =>
      convertSnapshot(this.#deps.content.for(target.owner), page, { options, signal: target.signal });
    return runAction(this.#deps, target, { name: 'content', finish }, ({ browser }, signal) =>
      takeSnapshot(browser.page(tabIdOf(browser, options.tabId)), options.format, signal),
    );
  }

  storageState(target: Target): Promise<StorageState> {
    return runAction(this.#deps, target, { name: 'storage_state', cost: null }, ({ browser }, signal) => browser.storageState({ signal }));
  }

  /** Newest first. */
  async downloads(target: Target): Promise<DownloadInfo[]> {
    const { machine } = await this.#ready(target);
    return machine.browser.downloads();
  }

  /** The caller closes the file. @throws ServiceError download_not_found, download_not_ready */
  openDownload(target: Target, downloadId: string): Promise<DownloadedFile> {
    return runAction(this.#deps, target, { name: 'open_download', cost: null, isQueued: false }, (machine, signal) =>
      openDownload(machine, downloadId, { digests: this.#digests, signal }),
    );
  }

  /** @throws ServiceError upload_limit_reached */
  async upload(target: Target, name: string, data: Buffer): Promise<UploadedFile> {
    try {
      return await runAction(this.#deps, target, { name: 'upload', isQueued: false }, (machine, _signal, session) =>
        session.uploads.put(machine, name, data),
      );
    } catch (error) {
      // If the session ended during the write, report that instead.
      if (!(error instanceof ServiceError)) await this.#ready(target);
      throw error;
    }
  }

  /**
   * New events until the session ends, preceded by the retained ones after
   * `afterId` if it is set.
   * @throws ServiceError too_many_streams
   */
  async events(target: Target, afterId: number | null): Promise<AsyncIterable<SessionEvent>> {
    const { session } = await this.#ready(target);
    return new EventFeed(session.events, { afterId, signal: target.signal });
  }

  /** Detects captchas in the active tab and reports the solving state. Not queued behind drive calls. */
  async captcha(target: Target): Promise<CaptchaTabState> {
    const { machine, session } = await this.#ready(target);
    const { browser } = machine;
    return withServiceErrors(() =>
      this.#deps.captchas.status(browser.page(browser.activeTab().tabId), { signal: target.signal, watch: session.captcha }),
    );
  }

  async har(target: Target): Promise<Har> {
    const { machine, session } = await this.#ready(target);
    const log = machine.browser.networkLog();
    const tabs = machine.browser.tabs();
    const { secrets } = session.events;
    return toHar({ ...log, secrets }, { title: (tabs.find(({ active }) => active) ?? tabs[0])?.url ?? '', startedAt: log.since });
  }

  /** Console lines, read without a wait for the session's drive calls. */
  async console(target: Target, afterId: number): Promise<ConsoleLineResponse[]> {
    const { machine, session } = await this.#ready(target);
    return session.events.secrets.mask(await this.#consoles.after(machine.browser, afterId));
  }

  #ready({ owner, sessionId, signal }: Target): Promise<RunningSession> {
    return this.#deps.sessions.ready(owner, sessionId, { signal });
  }
}

const atLeastOne = (count: number): number => Math.max(1, count);
