/**
 * Our own world in each document of a page, and what is called in it.
 *
 * A world is held by its global object and not by its number: numbers begin
 * anew in each process, so that after a navigation an old one may mean the
 * page's own world, while an object of a document that went is refused.
 * Answers are written down and measured in the page, before they are sent.
 */
import type { Protocol } from 'devtools-protocol';
import { ProtocolError, type Params } from '../cdp/connection.ts';
import { byValue, elementCounted, readValue, scriptError, type ValueBounds } from './answers.ts';
import type { Frames } from './frames.ts';
import { PageError, type Argument, type CallOptions, type ElementRef } from './model.ts';
import { Deadline, type PageSession } from './session.ts';
import type { Patience } from '../timeout-scale.ts';

const worldName = 'berth';
/** A page's whole text, and little enough for thousands of sessions in one worker. */
const usualAnswerBytes = 4 * 1024 * 1024;
/** A call that the old document has refused is told so at once; one that it holds, kept alive for the way back, is never answered. */
const lateRefusalMs = 100;
/** A document may move in while its predecessor is asked, even several in a row. */
const worldAttempts = 4;
/** A script that is ended this long before its time leaves its answer time to arrive. */
const endEarlyMs = 30;

export interface World {
  session: PageSession;
  contextId: number;
  /** Of its global object. */
  objectId: string;
  /** Aborted some time after its document has gone. */
  gone: AbortController;
}

interface Invocation {
  declaration: string;
  args: readonly Argument[];
  /** Whether it may run twice. */
  harmless: boolean;
  returnByValue: boolean;
}

export class Worlds {
  readonly patience: Patience;
  readonly #frames: Frames;
  readonly #worlds = new Map<string, World>();
  /** Worlds on their way, and whether their document went meanwhile. */
  readonly #making = new Set<{ frameId: string; stale: boolean }>();

  constructor(frames: Frames) {
    this.#frames = frames;
    this.patience = frames.patience;
    frames.onDocumentGone((frameId) => {
      for (const making of this.#making) making.stale ||= making.frameId === frameId;
      const world = this.#worlds.get(frameId);
      if (!world) return;
      this.#worlds.delete(frameId);
      const lost = new PageError('context_lost', 'The page moved on while it was asked.');
      setTimeout(() => world.gone.abort(lost), this.patience.ms(lateRefusalMs)).unref();
    });
  }

  async call<T>(frameId: string, source: string, args: readonly Argument[], options: CallOptions): Promise<T> {
    const bounds = boundsOf(options);
    const invocation = { declaration: byValue(source, bounds), args, harmless: false, returnByValue: true };
    const result = await this.#invoke(frameId, invocation, new Deadline(options));
    return readValue(result, bounds) as T;
  }

  async find(frameId: string, source: string, args: readonly Argument[], options: CallOptions): Promise<ElementRef[]> {
    const by = new Deadline(options);
    const invocation = { declaration: elementCounted(source), args, harmless: true, returnByValue: false };
    const found = await this.#invoke(frameId, invocation, by);
    if (found.subtype === 'node' && typeof found.objectId === 'string') return [{ frameId, objectId: found.objectId }];
    if (found.subtype !== 'array' || typeof found.objectId !== 'string') {
      if (found.type === 'string') throw scriptError(found.value);
      return [];
    }
    return this.#entries(frameId, found.objectId, by);
  }

  async evaluate<T>(frameId: string, expression: string, options: CallOptions): Promise<T> {
    const by = new Deadline(options);
    const bounds = boundsOf(options);
    const { session, contextId } = await this.#own(frameId, by);
    const earlyMs = this.patience.ms(endEarlyMs, by.leftMs / 4);
    const run = async (value: string): Promise<Protocol.Runtime.EvaluateResponse> => {
      const asked: Params<'Runtime.evaluate'> = {
        expression: `(${byValue(`async () => ${value}`, bounds)})()`,
        awaitPromise: true,
        returnByValue: true,
        timeout: Math.max(1, by.leftMs - earlyMs),
      };
      return session.send('Runtime.evaluate', contextId === undefined ? asked : { ...asked, contextId }, by);
    };
    try {
      let answer = await run(`(${expression}\n)`);
      // Everything that the expression throws is caught, so this is one that is no expression: it may be statements.
      if (answer.exceptionDetails) answer = await run(`(0, eval)(${JSON.stringify(expression)})`);
      if (answer.exceptionDetails) throw new PageError('script_failed', 'The script could not be read.');
      return readValue(answer.result, bounds) as T;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (by.leftMs <= earlyMs) throw new PageError('timeout', `The script did not end within ${options.timeoutMs} ms.`, { cause: error });
      throw new PageError('context_lost', 'The page moved on while the script ran.', { cause: error });
    }
  }

  /** An element of ours for one that the browser names. Null where it is gone. */
  async resolve(frameId: string, backendNodeId: number, by: Deadline): Promise<ElementRef | null> {
    const world = await this.world(frameId, by);
    try {
      const { object } = await world.session.send('DOM.resolveNode', { backendNodeId, executionContextId: world.contextId }, by);
      return typeof object.objectId === 'string' ? { frameId, objectId: object.objectId } : null;
    } catch (error) {
      if (error instanceof ProtocolError) return null;
      throw error;
    }
  }

  /** @throws PageError `frame_gone` */
  async world(frameId: string, by: Deadline): Promise<World> {
    const known = this.#worlds.get(frameId);
    if (known) return known;
    for (let attempt = 1; attempt <= worldAttempts; attempt += 1) {
      const session = await this.#frames.sessionOf(frameId, by);
      const making = { frameId, stale: false };
      this.#making.add(making);
      const made = await this.#make(session, frameId, by).finally(() => this.#making.delete(making));
      if (made && !making.stale) {
        // Two who ask at once share one.
        const world = this.#worlds.get(frameId) ?? made;
        this.#worlds.set(frameId, world);
        return world;
      }
      if (!made) this.#frames.forget(frameId);
    }
    throw new PageError('context_lost', 'The page moves on faster than it can be asked.');
  }

  async #make(session: PageSession, frameId: string, by: Deadline): Promise<World | null> {
    try {
      const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', { frameId, worldName }, by);
      const asked = { functionDeclaration: 'function () { return globalThis; }', executionContextId: contextId };
      const { result } = await session.send('Runtime.callFunctionOn', asked, by);
      return typeof result.objectId === 'string' ? { session, contextId, objectId: result.objectId, gone: new AbortController() } : null;
    } catch (error) {
      if (error instanceof ProtocolError) return null;
      throw error;
    }
  }

  async #invoke(frameId: string, invocation: Invocation, by: Deadline): Promise<Protocol.Runtime.RemoteObject> {
    const elements = invocation.args.filter(isElement);
    if (elements.some((element) => element.frameId !== frameId)) throw new PageError('not_possible', 'The element is in another frame.');
    for (let first = true; ; first = false) {
      const world = await this.world(frameId, by);
      try {
        const either = AbortSignal.any([by.signal, world.gone.signal]);
        const asked = new Deadline({ signal: either, timeoutMs: by.leftMs });
        const { result, exceptionDetails } = await world.session.send('Runtime.callFunctionOn', orderFor(world, invocation), asked);
        if (exceptionDetails) throw new PageError('script_failed', 'The function could not be read.');
        return result;
      } catch (error) {
        const kept = error === world.gone.signal.reason;
        if (kept && first && invocation.harmless) continue;
        if (!(error instanceof ProtocolError)) throw error;
        await this.#judge({ frameId, world, error, by }, invocation, first);
      }
    }
  }

  /** Returns where the call may be made again. */
  async #judge(
    failed: { frameId: string; world: World; error: ProtocolError; by: Deadline },
    invocation: Invocation,
    first: boolean,
  ): Promise<void> {
    const { frameId, world, error: cause, by } = failed;
    // A function that runs when its document goes is refused before we are told of the new document, one that came too late after.
    const begun = this.#worlds.get(frameId) === world;
    const alive = await this.#alive(world, by);
    if (!alive && this.#worlds.get(frameId) === world) this.#worlds.delete(frameId);
    if (invocation.args.some(isElement)) throw new PageError('element_gone', 'The element is no longer in the page.', { cause });
    if (alive) throw new PageError('script_failed', 'The browser did not run the function.', { cause });
    if (!first || (begun && !invocation.harmless)) throw new PageError('context_lost', 'The page moved on while it was asked.', { cause });
  }

  async #alive({ session, objectId }: World, by: Deadline): Promise<boolean> {
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
      throw new PageError('context_lost', 'The page moved on while it was asked.', { cause: error });
    } finally {
      session.sendQuietly('Runtime.releaseObject', { objectId });
    }
  }

  /** The page's own world of a frame; that of the frame at the top of a process needs no number. */
  async #own(frameId: string, by: Deadline): Promise<{ session: PageSession; contextId?: number }> {
    const session = await this.#frames.sessionOf(frameId, by);
    if (session.rootFrameId === frameId) return { session };
    const ours = await this.#invoke(
      frameId,
      { declaration: 'function () { return document; }', args: [], harmless: true, returnByValue: false },
      by,
    );
    try {
      const { node } = await session.send('DOM.describeNode', { objectId: ours.objectId ?? '' }, by);
      const { object } = await session.send('DOM.resolveNode', { backendNodeId: node.backendNodeId }, by);
      session.sendQuietly('Runtime.releaseObject', { objectId: object.objectId ?? '' });
      // An object's id names its process, its context and itself, in this order; nothing else tells the context without Runtime.enable.
      const contextId = /^-?\d+\.(\d+)\.\d+$/.exec(object.objectId ?? '')?.[1];
      if (contextId === undefined) throw new PageError('not_possible', 'The frame has no world of its own.');
      return { session, contextId: Number(contextId) };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new PageError('context_lost', 'The page moved on while it was asked.', { cause: error });
    } finally {
      session.sendQuietly('Runtime.releaseObject', { objectId: ours.objectId ?? '' });
    }
  }
}

function boundsOf({ maxBytes = usualAnswerBytes }: CallOptions): ValueBounds {
  return { maxBytes };
}

export function isElement(argument: Argument): argument is ElementRef {
  if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) return false;
  const { objectId, frameId, ...others } = argument as Partial<ElementRef>;
  return typeof objectId === 'string' && typeof frameId === 'string' && Object.keys(others).length === 0;
}

function orderFor(world: World, { declaration, args, returnByValue }: Invocation): Params<'Runtime.callFunctionOn'> {
  return {
    functionDeclaration: declaration,
    objectId: world.objectId,
    arguments: args.map((each) => (isElement(each) ? { objectId: each.objectId } : { value: each })),
    awaitPromise: true,
    returnByValue,
  };
}
