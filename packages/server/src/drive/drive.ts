/** Driving a session's browser over HTTP: navigate, tabs, steps, pictures, content, files, events, another way out. */
import {
  ServiceError,
  type NavigateRequest,
  type OpenTabRequest,
  type PdfRequest,
  type RunActionsRequest,
  type ScreenshotRequest,
  type StorageState,
} from '@berth/contract';
import type { Har } from 'har-format';
import type { DownloadInfo, TabInfo } from '../browser/browser.ts';
import type { CaptchaKnown, Captchas } from '../captcha/captcha.ts';
import type { Content } from '../content/content.ts';
import type { Rotation } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import type { Metering } from '../metering/metering.ts';
import type { LiveSession, Machine, Sessions, SessionEvent, UploadedFile } from '../sessions/sessions.ts';
import { countSteps } from '../steps/steps.ts';
import { runActions, toOrder, type ActionsDone } from './actions.ts';
import { charged, oneAction, type Cost } from './charged.ts';
import { convertSnapshot, takeSnapshot, type ContentOrder, type PageContent } from './content.ts';
import { printPage, takePicture, type Picture } from './capture.ts';
import { Digests, openDownload, type DownloadedFile } from './downloads.ts';
import { toServiceError } from './errors.ts';
import { EventFeed } from './events.ts';
import { toHar } from './har.ts';
import { navigate, type Navigated, type Navigation } from './navigate.ts';
import { told, type Action } from './told.ts';
import { tabIdOf } from './world.ts';

export { pictureIn, type PictureOrder } from './capture.ts';
export { toHar, type HarPage } from './har.ts';
export { worldOf, type WorldParts } from './world.ts';
export { solveCaptcha, type Solved } from './solve.ts';
export { judgePage, judgeReply, lookObject, retryAfterSeconds, type Look, type JudgeOptions, type Judgement } from './verdict.ts';
export type { Navigated } from './navigate.ts';

export interface Target {
  owner: string;
  sessionId: string;
  signal: AbortSignal;
  /** What a person does at a live view costs nothing. */
  isFree?: boolean;
}

export interface DriveDeps {
  sessions: Sessions;
  metering: Metering;
  clock: Clock;
  content: Pick<Content, 'convert'>;
  captchas: Captchas;
  /** Whether steps may run a caller's code in a page. */
  allowEvaluate: boolean;
}

type Work<T> = (machine: Machine, signal: AbortSignal, session: LiveSession) => Promise<T>;

export class Drive {
  readonly #deps: DriveDeps;
  readonly #digests = new Digests();
  readonly #listeners: ((navigated: Navigated) => void)[] = [];

  constructor(deps: DriveDeps) {
    this.#deps = deps;
  }

  /** Told of each navigation that a caller asked for, well or not, before the caller is. */
  onNavigated(listener: (navigated: Navigated) => void): void {
    this.#listeners.push(listener);
  }

  /** Throws ServiceError navigation_failed, tab_not_found and what any drive call throws. */
  navigate(target: Target, request: NavigateRequest): Promise<Navigation> {
    const tell = (navigated: Navigated): void => this.#listeners.forEach((listener) => listener(navigated));
    return this.#withBrowser(target, { name: 'navigate', url: request.url }, (machine, signal, session) =>
      navigate({ ...this.#deps, machine, session, tell }, { ...request, owner: target.owner }, signal),
    );
  }

  /** Oldest first. A look, not a drive call: it waits for nobody. */
  async tabs(target: Target): Promise<TabInfo[]> {
    const { machine } = await this.#ready(target);
    return machine.browser.tabsNow();
  }

  /** Opens a tab, at a page when one is named. A page that cannot be reached leaves no tab behind. */
  openTab(target: Target, request: OpenTabRequest): Promise<TabInfo> {
    const { clock } = this.#deps;
    return this.#withBrowser(target, { name: 'open_tab', url: request.url }, async ({ browser }, signal) => {
      const tab = await browser.openTab({ active: request.active, signal });
      if (request.url === undefined) return tab;
      const byMs = clock.monotonicMs() + request.timeout_ms;
      try {
        await browser.navigate(tab.tabId, { url: request.url, waitUntil: request.wait_until, timeoutMs: request.timeout_ms }, { signal });
      } catch (error) {
        // The tab may be gone already, with the browser or by a script of the page.
        const closeMs = browser.patience.ms(closeMsMax, byMs - clock.monotonicMs());
        await browser.closeTab(tab.tabId, { signal: AbortSignal.timeout(closeMs) }).catch(() => undefined);
        throw error;
      }
      return browser.tabs().find((candidate) => candidate.tabId === tab.tabId) ?? tab;
    });
  }

  closeTab(target: Target, tabId: string): Promise<void> {
    return this.#withBrowser(target, { name: 'close_tab' }, ({ browser }, signal) => browser.closeTab(tabId, { signal }));
  }

  rotateIp(target: Target): Promise<Rotation> {
    return this.#withBrowser(target, { name: 'rotate_ip' }, ({ way }, signal) => way.rotate(signal));
  }

  /** A step that fails is told in its result. Throws ValidationError for a recording that is none. */
  async runActions(target: Target, request: RunActionsRequest): Promise<ActionsDone> {
    const order = toOrder(request);
    const cost = { count: atLeastOne(countSteps(order.steps)), countOf: ({ ran }: ActionsDone) => atLeastOne(ran) };
    const run: Work<ActionsDone> = (machine, signal, session) => runActions({ ...this.#deps, machine, session }, order, signal);
    return this.#withBrowser(target, { name: 'actions' }, run, cost);
  }

  /** Throws page_failed, as all that follow which ask a page. */
  screenshot(target: Target, request: ScreenshotRequest): Promise<Picture> {
    return this.#withBrowser(target, { name: 'screenshot' }, (machine, signal, session) =>
      takePicture({ ...this.#deps, machine, session }, request, signal),
    );
  }

  pdf(target: Target, request: PdfRequest): Promise<Buffer> {
    return this.#withBrowser(target, { name: 'pdf' }, ({ browser }, signal) =>
      printPage(browser.page(tabIdOf(browser, request.tab_id)), request, signal),
    );
  }

  /** The session's next caller does not wait for the conversion, only for what the page says. */
  async content(target: Target, order: ContentOrder): Promise<PageContent> {
    const { session } = await this.#ready(target);
    return this.#charged(target, session, oneAction, async (admit) => {
      const taken = await this.#inTurn(target, async ({ browser }, signal) => {
        await admit();
        return this.#acted(session, { name: 'content' }, () => takeSnapshot(browser.page(tabIdOf(browser, order.tabId)), order, signal));
      });
      return translated(() => convertSnapshot(this.#deps.content, taken, { order, signal: target.signal }));
    });
  }

  storageState(target: Target): Promise<StorageState> {
    return this.#withBrowser(target, { name: 'storage_state' }, ({ browser }, signal) => browser.storageState({ signal }), null);
  }

  /** Newest first. */
  async downloads(target: Target): Promise<DownloadInfo[]> {
    const { machine } = await this.#ready(target);
    return machine.browser.downloads();
  }

  /** Throws download_not_found, download_not_ready. The caller closes the file. */
  async openDownload(target: Target, downloadId: string): Promise<DownloadedFile> {
    const { machine, session } = await this.#ready(target);
    session.touch();
    return this.#acted(session, { name: 'open_download' }, () =>
      openDownload(machine, downloadId, { digests: this.#digests, signal: target.signal }),
    );
  }

  /** Throws upload_limit_reached. */
  async upload(target: Target, name: string, data: Buffer): Promise<UploadedFile> {
    const { machine, session } = await this.#ready(target);
    session.touch();
    try {
      return await this.#charged(target, session, oneAction, async (admit) => {
        await admit();
        return this.#acted(session, { name: 'upload' }, () => session.uploads.put(machine, name, data));
      });
    } catch (error) {
      // The machine may have gone with its session while the file was written: then that is what is told.
      if (!(error instanceof ServiceError)) await this.#ready(target);
      throw error;
    }
  }

  /**
   * From now on, or all that is kept after an event that the caller has seen;
   * until the session ends. Throws too_many_streams.
   */
  async events(target: Target, afterId: number | null): Promise<AsyncIterable<SessionEvent>> {
    const { session } = await this.#ready(target);
    return new EventFeed(session.events, { afterId, signal: target.signal });
  }

  /** A look at the active tab, and what has become of solving what is there. Waits for nobody. */
  async captcha(target: Target): Promise<CaptchaKnown> {
    const { machine, session } = await this.#ready(target);
    const { browser } = machine;
    return translated(() =>
      this.#deps.captchas.status(browser.page(browser.activeTab().tabId), { signal: target.signal, watch: session.captcha }),
    );
  }

  async har(target: Target): Promise<Har> {
    const { machine } = await this.#ready(target);
    const log = machine.browser.networkLog();
    const tabs = machine.browser.tabs();
    return toHar(log, { title: (tabs.find(({ active }) => active) ?? tabs[0])?.url ?? '', startedAt: log.since });
  }

  #ready({ owner, sessionId }: Target): Promise<{ machine: Machine; session: LiveSession }> {
    return this.#deps.sessions.ready(owner, sessionId);
  }

  /** A call is admitted when its turn has come: what is wrong with the session is told before what is wrong with the wallet. */
  #withBrowser<T>(target: Target, action: Action, work: Work<T>, cost: Cost<T> | null = oneAction): Promise<T> {
    return this.#inTurn(target, (machine, signal, session) =>
      this.#charged(target, session, cost, async (admit) => {
        await admit();
        return this.#acted(session, action, () => work(machine, signal, session));
      }),
    );
  }

  #inTurn<T>({ owner, sessionId, signal }: Target, work: Work<T>): Promise<T> {
    return this.#deps.sessions.withBrowser(owner, sessionId, { signal }, work);
  }

  #charged<T>(
    { isFree }: Target,
    session: LiveSession,
    cost: Cost<T> | null,
    work: (admit: () => Promise<void>) => Promise<T>,
  ): Promise<T> {
    if (isFree || !cost) return work(() => Promise.resolve());
    return charged({ ...this.#deps, session }, cost, work);
  }

  #acted<T>(session: LiveSession, action: Action, work: () => Promise<T>): Promise<T> {
    return told({ session, clock: this.#deps.clock }, action, () => translated(work));
  }
}

const closeMsMax = 2000;

const atLeastOne = (count: number): number => Math.max(1, count);

/** What goes wrong in it is told as what the caller can make of it. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toServiceError(error);
  }
}
