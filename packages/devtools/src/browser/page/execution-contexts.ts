/**
 * An isolated execution context in each document of a page, and calls in it.
 *
 * A context is addressed by its global object and not by its id: ids start again
 * in each process, so after a navigation an old id may mean the page's main
 * context, while an object of a replaced document is rejected.
 * Results are encoded and measured in the page, see `answers.ts`.
 */
import type { Protocol } from 'devtools-protocol';
import { ProtocolError, type Params } from '../cdp/connection.ts';
import { wrapForValue, wrapForElements, parseValue, toScriptError, type ValueLimits } from './answers.ts';
import type { Frames } from './frames.ts';
import { PageError, type Argument, type CallOptions, type ElementRef } from './page.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import type { PageSession } from './session.ts';
import type { TimeoutScale } from '../timeout-scale.ts';

const contextName = 'berth';
/** Enough for a page's whole text, and small enough for thousands of sessions in one worker. */
const defaultAnswerBytesMax = 4 * 1024 * 1024;
/** A call to a replaced document is usually rejected at once; a document in the back/forward cache never replies. */
const destroyedDelayMs = 100;
/** The document may be replaced while its context is created, even several times in a row. */
const contextAttemptsMax = 4;
/** A script is terminated this long before the timeout, so that the reply arrives in time. */
const endEarlyMs = 30;
/** What the browser answers for a document that was replaced before the call arrived: the only calls that certainly never ran. */
const noContextAnswers = /^(Cannot find context with specified id|Could not find object with given id)$/;

interface ExecutionContext {
  session: PageSession;
  contextId: number;
  /** Id of its global object. */
  objectId: string;
  /** Aborted shortly after its document is replaced. */
  destroyed: AbortController;
}

interface Invocation {
  declaration: string;
  args: readonly Argument[];
  /** Whether the call may run twice. */
  isRepeatable: boolean;
  returnByValue: boolean;
}

export class ExecutionContexts {
  readonly timeoutScale: TimeoutScale;
  readonly #frames: Frames;
  readonly #contexts = new Map<string, ExecutionContext>();
  /** Contexts that are being created, and whether their document was replaced meanwhile. */
  readonly #creating = new Set<{ frameId: string; stale: boolean }>();

  constructor(frames: Frames) {
    this.#frames = frames;
    this.timeoutScale = frames.timeoutScale;
    frames.onDocumentDestroyed((frameId) => {
      for (const creating of this.#creating) creating.stale ||= creating.frameId === frameId;
      const context = this.#contexts.get(frameId);
      if (!context) return;
      this.#contexts.delete(frameId);
      const lost = new PageError('context_lost', 'The page navigated during the call.');
      setTimeout(() => context.destroyed.abort(lost), this.timeoutScale.ms(destroyedDelayMs)).unref();
    });
  }

  async call<T>(frameId: string, source: string, args: readonly Argument[], options: CallOptions): Promise<T> {
    const bounds = boundsOf(options);
    const invocation = { declaration: wrapForValue(source, bounds), args, isRepeatable: false, returnByValue: true };
    const result = await this.#invoke(frameId, invocation, new Deadline(options));
    return parseValue(result, bounds) as T;
  }

  async find(frameId: string, source: string, args: readonly Argument[], options: CallOptions): Promise<ElementRef[]> {
    const by = new Deadline(options);
    const invocation = { declaration: wrapForElements(source), args, isRepeatable: true, returnByValue: false };
    const result = await this.#invoke(frameId, invocation, by);
    if (result.subtype === 'node' && typeof result.objectId === 'string') return [{ frameId, objectId: result.objectId }];
    if (result.subtype !== 'array' || typeof result.objectId !== 'string') {
      if (result.type === 'string') throw toScriptError(result.value);
      return [];
    }
    return this.#entries(frameId, result.objectId, by);
  }

  async evaluate<T>(frameId: string, expression: string, options: CallOptions): Promise<T> {
    const by = new Deadline(options);
    const bounds = boundsOf(options);
    const { session, contextId } = await this.#mainContext(frameId, by);
    const earlyMs = this.timeoutScale.ms(endEarlyMs, by.leftMs / 4);
    const run = async (value: string): Promise<Protocol.Runtime.EvaluateResponse> => {
      const params: Params<'Runtime.evaluate'> = {
        expression: `(${wrapForValue(`async () => ${value}`, bounds)})()`,
        awaitPromise: true,
        returnByValue: true,
        timeout: Math.max(1, by.leftMs - earlyMs),
      };
      return session.send('Runtime.evaluate', contextId === undefined ? params : { ...params, contextId }, by);
    };
    try {
      let answer = await run(`(${expression}\n)`);
      // The wrapper catches everything that the expression throws, so this is a syntax error: it may be statements.
      if (answer.exceptionDetails) answer = await run(`(0, eval)(${JSON.stringify(expression)})`);
      if (answer.exceptionDetails) throw new PageError('script_failed', 'The script is not valid JavaScript.');
      return parseValue(answer.result, bounds) as T;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (by.leftMs <= earlyMs)
        throw new PageError('timeout', `The script did not finish within ${options.timeoutMs} ms.`, { cause: error });
      throw new PageError('context_lost', 'The page navigated while the script ran.', { cause: error });
    }
  }

  /** Resolves a backend node id to an element in our context; null where it no longer exists. */
  async resolve(frameId: string, backendNodeId: number, by: Deadline): Promise<ElementRef | null> {
    const context = await this.context(frameId, by);
    try {
      const { object } = await context.session.send('DOM.resolveNode', { backendNodeId, executionContextId: context.contextId }, by);
      return typeof object.objectId === 'string' ? { frameId, objectId: object.objectId } : null;
    } catch (error) {
      if (error instanceof ProtocolError) return null;
      throw error;
    }
  }

  /** @throws PageError `frame_detached` */
  async context(frameId: string, by: Deadline): Promise<ExecutionContext> {
    const cached = this.#contexts.get(frameId);
    if (cached) return cached;
    for (let attempt = 1; attempt <= contextAttemptsMax; attempt += 1) {
      const session = await this.#frames.sessionOf(frameId, by);
      const creating = { frameId, stale: false };
      this.#creating.add(creating);
      const created = await this.#create(session, frameId, by).finally(() => this.#creating.delete(creating));
      if (created && !creating.stale) {
        // Concurrent calls share one context.
        const context = this.#contexts.get(frameId) ?? created;
        this.#contexts.set(frameId, context);
        return context;
      }
      if (!created) this.#frames.forget(frameId);
    }
    throw new PageError('context_lost', 'The page keeps navigating.');
  }

  async #create(session: PageSession, frameId: string, by: Deadline): Promise<ExecutionContext | null> {
    try {
      const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', { frameId, worldName: contextName }, by);
      const params = { functionDeclaration: 'function () { return globalThis; }', executionContextId: contextId };
      const { result } = await session.send('Runtime.callFunctionOn', params, by);
      return typeof result.objectId === 'string'
        ? { session, contextId, objectId: result.objectId, destroyed: new AbortController() }
        : null;
    } catch (error) {
      if (error instanceof ProtocolError) return null;
      throw error;
    }
  }

  async #invoke(frameId: string, invocation: Invocation, by: Deadline): Promise<Protocol.Runtime.RemoteObject> {
    const elements = invocation.args.filter(isElement);
    if (elements.some((element) => element.frameId !== frameId))
      throw new PageError('not_possible', 'The element belongs to another frame.');
    for (let first = true; ; first = false) {
      const context = await this.context(frameId, by);
      try {
        const either = AbortSignal.any([by.signal, context.destroyed.signal]);
        const callDeadline = new Deadline({ signal: either, timeoutMs: by.leftMs });
        const { result, exceptionDetails } = await context.session.send(
          'Runtime.callFunctionOn',
          callParams(context, invocation),
          callDeadline,
        );
        if (exceptionDetails) throw new PageError('script_failed', 'The function is not valid JavaScript.');
        return result;
      } catch (error) {
        const isDestroyed = error === context.destroyed.signal.reason;
        if (isDestroyed && first && invocation.isRepeatable) continue;
        if (!(error instanceof ProtocolError)) throw error;
        await this.#classifyFailure({ frameId, context, error, by }, invocation, first);
      }
    }
  }

  /** Returns if the call may be repeated; throws otherwise. */
  async #classifyFailure(
    failed: { frameId: string; context: ExecutionContext; error: ProtocolError; by: Deadline },
    invocation: Invocation,
    first: boolean,
  ): Promise<void> {
    const { frameId, context, error: cause, by } = failed;
    // By the reply, not by the event of the new document: both may be in one read of the pipe, and then the event is handled first.
    const hadBegun = !noContextAnswers.test(cause.answer);
    const alive = await this.#isAlive(context, by);
    if (!alive && this.#contexts.get(frameId) === context) this.#contexts.delete(frameId);
    if (invocation.args.some(isElement)) throw new PageError('element_detached', 'The element is no longer in the page.', { cause });
    if (alive) throw new PageError('script_failed', 'The browser could not run the function.', { cause });
    if (!first || (hadBegun && !invocation.isRepeatable))
      throw new PageError('context_lost', 'The page navigated during the call.', { cause });
  }

  async #isAlive({ session, objectId }: ExecutionContext, by: Deadline): Promise<boolean> {
    try {
      await session.send('Runtime.callFunctionOn', { functionDeclaration: 'function () {}', objectId }, by);
      return true;
    } catch (error) {
      if (error instanceof ProtocolError) return false;
      throw error;
    }
  }

  async #entries(frameId: string, objectId: string, by: Deadline): Promise<ElementRef[]> {
    const session = await this.#frames.sessionOf(frameId, by);
    try {
      const { result } = await session.send('Runtime.getProperties', { objectId, ownProperties: true }, by);
      const elements: ElementRef[] = [];
      for (const { name, value } of result)
        if (/^\d+$/.test(name) && value?.subtype === 'node' && typeof value.objectId === 'string')
          elements.push({ frameId, objectId: value.objectId });
      return elements;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new PageError('context_lost', 'The page navigated during the call.', { cause: error });
    } finally {
      session.sendNoReply('Runtime.releaseObject', { objectId });
    }
  }

  /** The main context of a frame; the root frame of a process needs no context id. */
  async #mainContext(frameId: string, by: Deadline): Promise<{ session: PageSession; contextId?: number }> {
    const session = await this.#frames.sessionOf(frameId, by);
    if (session.rootFrameId === frameId) return { session };
    const ownDocument = await this.#invoke(
      frameId,
      { declaration: 'function () { return document; }', args: [], isRepeatable: true, returnByValue: false },
      by,
    );
    try {
      const { node } = await session.send('DOM.describeNode', { objectId: ownDocument.objectId ?? '' }, by);
      const { object } = await session.send('DOM.resolveNode', { backendNodeId: node.backendNodeId }, by);
      session.sendNoReply('Runtime.releaseObject', { objectId: object.objectId ?? '' });
      // A remote object id holds process, context and object, in this order: the only source of the context id without Runtime.enable.
      const contextId = /^-?\d+\.(\d+)\.\d+$/.exec(object.objectId ?? '')?.[1];
      if (contextId === undefined) throw new PageError('not_possible', 'The frame has no script context.');
      return { session, contextId: Number(contextId) };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new PageError('context_lost', 'The page navigated during the call.', { cause: error });
    } finally {
      session.sendNoReply('Runtime.releaseObject', { objectId: ownDocument.objectId ?? '' });
    }
  }
}

function boundsOf({ maxBytes = defaultAnswerBytesMax, exactText }: CallOptions): ValueLimits {
  return { maxBytes, exactText };
}

function isElement(argument: Argument): argument is ElementRef {
  if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) return false;
  const { objectId, frameId, ...others } = argument as Partial<ElementRef>;
  return typeof objectId === 'string' && typeof frameId === 'string' && Object.keys(others).length === 0;
}

function callParams(context: ExecutionContext, { declaration, args, returnByValue }: Invocation): Params<'Runtime.callFunctionOn'> {
  return {
    functionDeclaration: declaration,
    objectId: context.objectId,
    arguments: args.map((each) => (isElement(each) ? { objectId: each.objectId } : { value: each })),
    awaitPromise: true,
    returnByValue,
  };
}
