/** Use of a browser by coordinates: a list of actions on a screen, and a picture of what they have led to. */
import type { ComputerAction, ComputerActionResult, ComputerPicture, ComputerRequest, ComputerResult } from '@berth/contract';
import { PageError, TabNotFoundError, untilQuiet, type Browser, type Page, type Point } from '../browser/browser.ts';
import { Deadline, orAfter } from '@berth/lib/deadline.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import { act, ComputerError, toComputerError } from './acts.ts';
import { Happenings } from './happenings.ts';
import { PageScreen, type Picture, type Screen } from './screen.ts';

export { ComputerError } from './acts.ts';

/** Time for the last picture, also where the actions have used up theirs. */
const pictureMsMax = 20_000;
/** A page that is busy for longer gets its press, and nobody learns of the list that it opens. */
const controlMsMax = 1000;
/** A tab that has opened loads its page within milliseconds, if it has one. */
const loadStartMsMax = 500;
const qualityDefault = 80;

export interface ComputerOptions {
  signal: AbortSignal;
}

/** @throws TabNotFoundError, PageError, BrowserClosedError; an action that fails is in the result */
export async function useComputer(browser: Browser, request: ComputerRequest, { signal }: ComputerOptions): Promise<ComputerResult> {
  const run = new ComputerRun(browser, request, signal);
  try {
    return await run.run();
  } finally {
    run.end();
  }
}

const late = (): ComputerError => new ComputerError('timeout', 'The time for all actions together (`timeout_ms`) was over.');

class ComputerRun {
  readonly #browser: Browser;
  readonly #request: ComputerRequest;
  readonly #signal: AbortSignal;
  readonly #page: Page;
  readonly #happenings: Happenings;
  readonly #stopAnswering: () => void;
  /** Searches for lists and pickers that presses open. */
  readonly #searches: Promise<void>[] = [];
  readonly #results: ComputerActionResult[] = [];
  readonly #warnings: string[] = [];
  readonly #startMs = performance.now();

  constructor(browser: Browser, request: ComputerRequest, signal: AbortSignal) {
    this.#browser = browser;
    this.#request = request;
    this.#signal = signal;
    this.#page = browser.page(request.tab_id ?? browser.activeTab().tabId);
    this.#happenings = new Happenings(browser, { dialogs: request.dialogs });
    const { dialogs } = request;
    this.#stopAnswering = dialogs ? this.#page.onDialog(() => ({ accept: dialogs === 'accept' })) : (): void => {};
  }

  end(): void {
    this.#stopAnswering();
    this.#happenings.end();
  }

  async run(): Promise<ComputerResult> {
    await this.#answerOpenDialog();
    const screen = await PageScreen.open(this.#page, new Deadline({ signal: this.#signal, timeoutMs: this.#firstMs }));
    await this.#act(screen);
    this.#happenings.index = null;
    const by = new Deadline({ signal: this.#signal, timeoutMs: this.#request.settle_ms + pictureMsMax });
    const isCurrent = this.#request.actions.length === 0 || (await this.#settle(screen, by));
    return this.#finish(isCurrent ? screen : null, by);
  }

  /** Time in which the page must say how large it is. */
  get #firstMs(): number {
    return Math.min(pictureMsMax, this.#request.timeout_ms);
  }

  /** A dialog that waits for somebody keeps the page from doing anything else. */
  async #answerOpenDialog(): Promise<void> {
    const { tabId } = this.#page;
    const open = this.#browser.prompts().find((prompt) => prompt.tabId === tabId && prompt.question.kind === 'dialog');
    if (!open) return;
    if (!this.#request.dialogs)
      throw new PageError('not_possible', 'A dialog of the page waits for an answer. Send `dialogs` to accept or dismiss it.');
    await this.#browser.answerPrompt(open.id, { accept: this.#request.dialogs === 'accept' });
  }

  async #act(screen: Screen): Promise<void> {
    const { actions, timeout_ms: timeoutMs } = this.#request;
    const signal = AbortSignal.any([this.#signal, this.#page.closed]);
    await Deadline.run({ signal, timeoutMs, reason: late }, async (by) => {
      for (const [index, action] of actions.entries()) {
        this.#happenings.index = index;
        const result = await this.#runAction({ action, index, screen, by });
        this.#results.push(result);
        if (result.status === 'error') return;
      }
    });
  }

  async #runAction(options: { action: ComputerAction; index: number; screen: Screen; by: Deadline }): Promise<ComputerActionResult> {
    const { action, index, screen, by } = options;
    const startMs = performance.now();
    const result: ComputerActionResult = {
      ...{ index, type: action.type, status: 'ok', duration_ms: 0 },
      ...{ error: null, cursor: null, screenshot: null },
    };
    try {
      if (this.#happenings.isDialogOpen(this.#page.tabId)) throw dialogOpen();
      if (action.type === 'cursor') result.cursor = this.#toPicture(screen, screen.position);
      else if (action.type !== 'screenshot') await this.#untilDialog(() => this.#input({ action, screen, by }));
      else if (!this.#isLast(index)) result.screenshot = toReply(await this.#capture(screen, by));
    } catch (error) {
      const failure = this.#toFailure(error);
      result.status = 'error';
      result.error = { code: failure.code, message: failure.message };
    }
    result.duration_ms = Math.round(performance.now() - startMs);
    return result;
  }

  /** The picture at the end is that of the last action. */
  #isLast(index: number): boolean {
    return this.#request.screenshot && index === this.#request.actions.length - 1;
  }

  #input({ action, screen, by }: { action: Exclude<ComputerAction, { type: 'screenshot' | 'cursor' }>; screen: Screen; by: Deadline }) {
    const beforePress = (at: Point): void => void this.#searches.push(this.#searchControl(at, by));
    return act(action, { screen, scale: this.#scaleOf(screen), by, beforePress });
  }

  /** The page answers for the input that opens a dialog when that is closed, which is too late for one that stays open. */
  async #untilDialog(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsubscribe = this.#happenings.onOpenDialog(resolve);
    try {
      const working = work();
      working.catch(() => undefined);
      await Promise.race([working, promise]);
    } finally {
      unsubscribe();
    }
  }

  async #searchControl(at: Point, by: Deadline): Promise<void> {
    const { index } = this.#happenings;
    const { tabId, timeoutScale } = this.#page;
    const question = await this.#browser.controlAt(tabId, at, by.rest(timeoutScale.ms(controlMsMax))).catch(() => null);
    if (question) this.#happenings.addControl(tabId, question, index);
  }

  /** @throws what is no failure of an action: the end of the call, or of the browser */
  #toFailure(error: unknown): ComputerError {
    this.#signal.throwIfAborted();
    const failure = toComputerError(error) ?? (this.#page.closed.aborted ? toComputerError(this.#page.closed.reason) : undefined);
    if (!failure) throw error;
    return failure;
  }

  /** Waits for a frame with the effect of the actions. Returns whether the screen is as large as it says. */
  async #settle(screen: Screen, by: Deadline): Promise<boolean> {
    await Promise.all(this.#searches);
    if (this.#page.closed.aborted || this.#happenings.isDialogOpen(this.#page.tabId)) return false;
    try {
      return await screen.drawn(by);
    } catch (error) {
      this.#toFailure(error);
      return false;
    }
  }

  /** `current`: the screen of the actions, where its size is known to be up to date. */
  async #finish(current: Screen | null, by: Deadline): Promise<ComputerResult> {
    const tabId = await this.#shownTab(by);
    const isSame = tabId === this.#page.tabId && !this.#happenings.hasNavigated(tabId);
    const picture = await this.#lastPicture(tabId, isSame ? current : null, by);
    const { screen } = picture;
    const tab = (await this.#browser.refreshTabs()).find((each) => each.tabId === tabId);
    const failed = this.#results.find(({ status }) => status === 'error');
    if (this.#happenings.leftOut > 0) this.#warnings.push('events_left_out');
    const size = screen?.size ?? { width: 0, height: 0 };
    return {
      status: failed ? 'error' : 'ok',
      failed_index: failed?.index ?? null,
      results: this.#results,
      events: [...this.#happenings.list],
      screenshot: picture.screenshot,
      scale: screen ? this.#scaleOf(screen) : 1,
      screen: size,
      cursor: screen ? this.#toPicture(screen, screen.position) : { x: 0, y: 0 },
      tab_id: tabId,
      url: tab?.url ?? '',
      title: tab?.title ?? '',
      duration_ms: Math.round(performance.now() - this.#startMs),
      warnings: this.#warnings,
    };
  }

  /** The tab that the caller is to see: the one that the actions have opened, else its own, else the active one. */
  async #shownTab(by: Deadline): Promise<string> {
    const open = new Set(this.#browser.tabs().map(({ tabId }) => tabId));
    const opened = this.#request.follow_tabs ? this.#happenings.newestTab(open) : undefined;
    if (opened !== undefined) {
      await this.#browser.activateTab(opened, by).catch((error: unknown) => {
        if (!(error instanceof TabNotFoundError)) throw error;
      });
      return opened;
    }
    if (open.has(this.#page.tabId)) return this.#page.tabId;
    await orAbort(this.#browser.tabReady(), by.signal);
    return this.#browser.activeTab().tabId;
  }

  async #lastPicture(
    tabId: string,
    current: Screen | null,
    by: Deadline,
  ): Promise<{ screen: Screen | null; screenshot: ComputerPicture | null }> {
    let screen: Screen | null = null;
    try {
      if (this.#happenings.isDialogOpen(tabId)) throw dialogOpen();
      const page = this.#browser.page(tabId);
      await this.#untilLoaded(page, by);
      screen = current ?? (await PageScreen.open(page, by));
      return { screen, screenshot: this.#request.screenshot ? toReply(await this.#capture(screen, by)) : null };
    } catch (error) {
      this.#warnings.push(`screenshot_failed:${this.#toFailure(error).code}`);
      return { screen, screenshot: null };
    }
  }

  /** Waits for a page that the actions have led to, and for what its scripts show then. */
  async #untilLoaded(page: Page, by: Deadline): Promise<void> {
    const isLoading = (): boolean => this.#browser.tabs().some(({ tabId, status }) => tabId === page.tabId && status === 'loading');
    if (this.#results.length === 0 || !(isLoading() || this.#happenings.hasNavigated(page.tabId))) return;
    const { settle_ms: settleMs } = this.#request;
    const settled = by.within(settleMs);
    // A new tab is empty at first, and may stay so.
    const startMs = Math.min(settleMs, page.timeoutScale.ms(loadStartMsMax));
    await this.#untilTabs(() => isLoading() || this.#happenings.hasLoaded(page.tabId), { withinMs: startMs, by });
    await this.#untilTabs(() => !isLoading(), { withinMs: settled.leftMs, by });
    if (isLoading()) this.#warnings.push('still_loading');
    else await untilQuiet(page, { leftMs: settled.leftMs, signal: by.signal });
  }

  /** Waits until the tabs are so, or the time is over. */
  async #untilTabs(areSo: () => boolean, { withinMs, by }: { withinMs: number; by: Deadline }): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => (areSo() ? resolve() : undefined);
    const unsubscribe = this.#browser.onTabsChanged(check);
    check();
    try {
      await orAfter(orAbort(promise, by.signal), withinMs);
    } finally {
      unsubscribe();
    }
  }

  async #capture(screen: Screen, by: Deadline): Promise<Picture> {
    const { format, quality = qualityDefault } = this.#request;
    const options = { format, quality: format === 'png' ? undefined : quality, scale: this.#scaleOf(screen) };
    const picture = await screen.capture(options, by.within(pictureMsMax));
    for (const warning of picture.warnings) if (!this.#warnings.includes(warning)) this.#warnings.push(warning);
    return picture;
  }

  #scaleOf({ size }: Screen): number {
    return Math.min(1, (this.#request.max_width ?? size.width) / size.width);
  }

  #toPicture(screen: Screen, { x, y }: Point): Point {
    const scale = this.#scaleOf(screen);
    return { x: Math.round(x * scale), y: Math.round(y * scale) };
  }
}

const dialogOpen = (): ComputerError =>
  new ComputerError('dialog_open', 'A dialog of the page waits for an answer. Send `dialogs` to accept or dismiss it.');

const toReply = ({ data, width, height, contentType }: Picture): ComputerPicture => ({
  content_type: contentType,
  width,
  height,
  data_base64: data.toString('base64'),
});
