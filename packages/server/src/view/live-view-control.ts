import { NavigateRequest, OpenTabRequest, RunActionsRequest, ServiceError, type Step } from '@berth/contract';
import type { LiveViewMessage } from '@berth/contract/live-view';
import { BrowserClosed, PageError, TabNotFound, type RemoteInput } from '../browser/browser.ts';
import type { Drive, Target } from '../drive/drive.ts';
import type { Log } from '../lib/log.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import { clampPageSize, type Command, type ControlCommand } from './live-view-commands.ts';

export interface ControlDeps {
  session: LiveSession;
  machine: Machine;
  sessions: Sessions;
  drive: Drive;
  log: Log;
  sendMessage(message: LiveViewMessage): void;
}

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>;
type InputCommand = CommandOf<'mouse' | 'wheel' | 'key' | 'text' | 'compose'>;
type Task = (target: Target) => Promise<unknown>;

/** A hanging page takes no input. Input beyond this limit is dropped. */
const pendingInputsMax = 256;
/** Tab and navigation commands of one viewer that may be pending. Each queues with the session's other drive calls. */
const tasksMax = 4;
/** The page is usable from then on. Programs wait no longer than that for a viewer's navigation. */
const waitUntil = 'domcontentloaded';

/**
 * Executes the commands of one viewer. Mouse and keyboard input goes to the
 * active tab at once; tab and navigation commands queue like drive calls.
 */
export class Control {
  readonly #deps: ControlDeps;
  #active: { tabId: string; input: RemoteInput } | null = null;
  #pendingInputs = 0;
  readonly #tasks = new Set<AbortController>();
  #currentNavigation: AbortController | null = null;
  #hasEnded = false;

  constructor(deps: ControlDeps) {
    this.#deps = deps;
  }

  run(command: ControlCommand): void {
    this.#deps.session.touch();
    switch (command.type) {
      case 'mouse':
      case 'wheel':
      case 'key':
      case 'text':
      case 'compose':
        return this.#handleInput(command);
      case 'copy':
        return this.#handleCopy();
      case 'tab':
        this.#startTask(this.#tabTask(command));
        return;
      case 'navigate':
        return this.#navigate(command);
      case 'resize':
        this.#startTask(
          this.#stepTask({ type: 'set_viewport', ...clampPageSize(command), device_scale_factor: this.#deviceScaleFactor() }),
        );
    }
  }

  /** Cancels pending tasks and releases pressed keys and buttons. Idempotent. */
  end(): void {
    this.#hasEnded = true;
    for (const task of [...this.#tasks]) this.#cancel(task, 'the viewer disconnected');
    this.#releaseInput();
  }

  #handleInput(command: InputCommand): void {
    const action = 'action' in command ? command.action : null;
    // A release is never dropped, or the key would stay pressed.
    if (this.#pendingInputs >= pendingInputsMax && action !== 'up') return;
    // The next mouse move supersedes a lost one.
    void this.#countInput(() => dispatchInput(this.#inputOfActiveTab(), command)).catch((error: unknown) =>
      action === 'move' ? undefined : this.#reportError(error),
    );
  }

  #handleCopy(): void {
    if (this.#pendingInputs >= pendingInputsMax) return this.#reportError(createBusyError());
    void this.#countInput(async () =>
      this.#deps.sendMessage({ type: 'clipboard', text: await this.#inputOfActiveTab().selection() }),
    ).catch((error: unknown) => this.#reportError(error));
  }

  async #countInput(dispatch: () => Promise<void>): Promise<void> {
    this.#pendingInputs += 1;
    try {
      await dispatch();
    } finally {
      this.#pendingInputs -= 1;
    }
  }

  /** Input of the tab that is active now. Switching tabs releases what is pressed on the previous one. */
  #inputOfActiveTab(): RemoteInput {
    const { browser } = this.#deps.machine;
    const { tabId } = browser.activeTab();
    if (this.#active?.tabId !== tabId) {
      this.#releaseInput();
      this.#active = { tabId, input: browser.remoteInput(tabId) };
    }
    return this.#active.input;
  }

  #releaseInput(): void {
    const active = this.#active;
    this.#active = null;
    // A closed tab holds no pressed keys.
    void active?.input.release().catch(() => undefined);
  }

  #tabTask(command: CommandOf<'tab'>): Task {
    const { drive, sessions } = this.#deps;
    if (command.action === 'open') return (target) => drive.openTab(target, OpenTabRequest.parse({}));
    const { tab_id: tabId } = command;
    if (command.action === 'close') return (target) => drive.closeTab(target, tabId);
    return ({ owner, sessionId, signal: callerSignal }) =>
      sessions.withBrowserConcurrently(owner, sessionId, { signal: callerSignal }, ({ browser }, signal) =>
        browser.activateTab(tabId, { signal }),
      );
  }

  /** A new navigation cancels the pending one. */
  #navigate(command: CommandOf<'navigate'>): void {
    const task = this.#navigationTask(command);
    if (!task) return this.#sendFailure('bad_request', 'This address cannot be opened. Enter one that starts with http:// or https://.');
    this.#cancel(this.#currentNavigation, 'the viewer started another navigation');
    this.#currentNavigation = this.#startTask(task);
  }

  #navigationTask(command: CommandOf<'navigate'>): Task | null {
    if (command.to !== 'url') return this.#stepTask({ type: command.to, wait_until: waitUntil });
    const { success, data } = NavigateRequest.safeParse({ url: command.url, wait_until: waitUntil });
    return success ? (target) => this.#deps.drive.navigate(target, data) : null;
  }

  #stepTask(step: { type: Step['type']; [field: string]: unknown }): Task {
    return async (target) => {
      const { results } = await this.#deps.drive.runActions(target, RunActionsRequest.parse({ actions: [step] }));
      const [result] = results;
      if (result?.error) this.#sendFailure(result.error.code, result.error.message);
    };
  }

  /** Returns what aborts the task, or null when too many are pending. */
  #startTask(task: Task): AbortController | null {
    if (this.#tasks.size >= tasksMax) {
      this.#reportError(createBusyError());
      return null;
    }
    const controller = new AbortController();
    this.#tasks.add(controller);
    const { owner, sessionId } = this.#deps.session.record;
    const { signal } = controller;
    void task({ owner, sessionId, signal, isFree: true })
      // A cancelled task is not a failure.
      .catch((error: unknown) => (signal.aborted ? undefined : this.#reportError(error)))
      .finally(() => this.#tasks.delete(controller));
    return controller;
  }

  #cancel(task: AbortController | null, reason: string): void {
    if (!task) return;
    task.abort(new Error(reason));
    this.#tasks.delete(task);
  }

  #deviceScaleFactor(): number {
    return this.#deps.session.record.settings.viewport.device_scale_factor;
  }

  #reportError(error: unknown): void {
    if (error instanceof ServiceError) return this.#sendFailure(error.code, error.publicMessage);
    if (error instanceof TabNotFound) return this.#sendFailure('tab_not_found', 'This tab no longer exists. Select another tab.');
    if (error instanceof PageError) return this.#sendFailure('page_failed', error.message);
    // The session ends then, and every viewer is notified.
    if (error instanceof BrowserClosed) return;
    this.#deps.log.warn({ err: error, session: this.#deps.session.record.sessionId }, 'live view command failed');
    this.#sendFailure('internal_error', 'The command failed. Try again.');
  }

  #sendFailure(code: string, message: string): void {
    if (!this.#hasEnded) this.#deps.sendMessage({ type: 'failed', code, message });
  }
}

const createBusyError = (): ServiceError => new ServiceError('session_busy', 'The page is busy. Try again in a moment.');

function dispatchInput(input: RemoteInput, command: InputCommand): Promise<void> {
  const { type: _, ...event } = command;
  if ('button' in event) return input.mouse(event);
  if ('dx' in event) return input.wheel(event);
  if ('key' in event) return input.key(event);
  return 'start' in event ? input.compose(event.text, event.start, event.end) : input.insertText(event.text);
}
