/**
 * Coordinates across frames. The browser reports coordinates relative to the
 * root frame of a process; clicks and screenshots use the main frame. A page may
 * move, scale and rotate a frame, so points are transformed by three corners of
 * the frame element's box.
 */
import { ProtocolError } from '../cdp/connection.ts';
import type { Frames } from './frames.ts';
import { PageError, type Box, type ElementRef, type Point } from './page.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import type { ExecutionContexts } from './execution-contexts.ts';

/** Maps (x, y) to (a·x + c·y + e, b·x + d·y + f). */
interface Affine {
  a: number;
  b: number;
  c: number;
  d: number;
  e: number;
  f: number;
}

const identity: Affine = { a: 1, b: 0, c: 0, d: 1, e: 0, f: 0 };

export const transform = ({ a, b, c, d, e, f }: Affine, { x, y }: Point): Point => ({ x: a * x + c * y + e, y: b * x + d * y + f });

/** First `inner`, then `outer`. */
function compose(outer: Affine, inner: Affine): Affine {
  const { x: e, y: f } = transform(outer, { x: inner.e, y: inner.f });
  return {
    a: outer.a * inner.a + outer.c * inner.b,
    b: outer.b * inner.a + outer.d * inner.b,
    c: outer.a * inner.c + outer.c * inner.d,
    d: outer.b * inner.c + outer.d * inner.d,
    e,
    f,
  };
}

/** The point before the transform; null for a transform that is not invertible. */
export function inverseTransform({ a, b, c, d, e, f }: Affine, { x, y }: Point): Point | null {
  const area = a * d - b * c;
  if (Math.abs(area) < 1e-9) return null;
  return { x: (d * (x - e) - c * (y - f)) / area, y: (a * (y - f) - b * (x - e)) / area };
}

/** A frame on the path from the main frame, and the transform of its coordinates to the main viewport. */
interface FrameStep {
  frameId: string;
  toMain: Affine;
  /** Its frame element in the parent frame; null for the main frame. */
  owner: ElementRef | null;
}

export class Geometry {
  readonly #frames: Frames;
  readonly #contexts: ExecutionContexts;

  constructor(frames: Frames, contexts: ExecutionContexts) {
    this.#frames = frames;
    this.#contexts = contexts;
  }

  /** The frames from the main frame to this one. @throws PageError `frame_detached` */
  async framePath(frameId: string, by: Deadline): Promise<FrameStep[]> {
    const main: FrameStep = { frameId: this.#frames.tab.id, toMain: identity, owner: null };
    const steps = [main];
    if (frameId === main.frameId) return steps;
    for (const id of await this.#frames.chain(frameId, by)) {
      const parent = steps.at(-1) ?? main;
      steps.push(await this.#step(id, parent, { steps, by }));
    }
    return steps;
  }

  /** The transform for `quads` that the browser reports for this frame's elements. */
  async rootToMain(frameId: string, by: Deadline): Promise<Affine> {
    const session = await this.#frames.sessionOf(frameId, by);
    if (session === this.#frames.main) return identity;
    const steps = await this.framePath(session.rootFrameId, by);
    this.release(steps);
    return steps.at(-1)?.toMain ?? identity;
  }

  /** Releases the frame elements of a path. */
  release(steps: readonly FrameStep[]): void {
    for (const { owner } of steps)
      if (owner) this.#frames.cachedSession(owner.frameId)?.sendNoReply('Runtime.releaseObject', { objectId: owner.objectId });
  }

  async #step(frameId: string, parent: FrameStep, { steps, by }: { steps: readonly FrameStep[]; by: Deadline }): Promise<FrameStep> {
    const session = await this.#frames.sessionOf(parent.frameId, by);
    const size = this.#contexts.call<unknown>(frameId, '() => [innerWidth, innerHeight]', [], by.rest());
    const [width, height] = await readSize(size);
    try {
      const { backendNodeId } = await session.send('DOM.getFrameOwner', { frameId }, by);
      const [{ model }, owner] = await Promise.all([
        session.send('DOM.getBoxModel', { backendNodeId }, by),
        this.#contexts.resolve(parent.frameId, backendNodeId, by),
      ]);
      if (!owner) throw new PageError('frame_detached', 'The frame is no longer in the page.');
      const rooted = steps.find((step) => step.frameId === session.rootFrameId)?.toMain ?? identity;
      return { frameId, owner, toMain: compose(rooted, spanning(model.content, width, height)) };
    } catch (error) {
      if (error instanceof ProtocolError) throw new PageError('not_possible', 'The frame is not rendered.', { cause: error });
      throw error;
    }
  }
}

async function readSize(answer: Promise<unknown>): Promise<[number, number]> {
  const size = await answer;
  if (!Array.isArray(size)) return [1, 1];
  const [width, height] = size as unknown[];
  return [Math.max(1, Number(width) || 1), Math.max(1, Number(height) || 1)];
}

/** Maps a viewport of this size onto the content box of its frame element. */
function spanning(quad: readonly number[], width: number, height: number): Affine {
  const [x0 = 0, y0 = 0, x1 = 0, y1 = 0, , , x3 = 0, y3 = 0] = quad;
  return { a: (x1 - x0) / width, b: (y1 - y0) / width, c: (x3 - x0) / height, d: (y3 - y0) / height, e: x0, f: y0 };
}

/** The bounding box of all quads; null where it is empty. */
export function boundsOf(quads: readonly (readonly number[])[], toMain: Affine): Box | null {
  const points: Point[] = [];
  for (const quad of quads)
    for (let i = 0; i + 1 < quad.length; i += 2) points.push(transform(toMain, { x: quad[i] ?? 0, y: quad[i + 1] ?? 0 }));
  if (points.length === 0) return null;
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  const [x, y] = [smallest(xs), smallest(ys)];
  const [width, height] = [-smallest(xs.map((each) => -each)) - x, -smallest(ys.map((each) => -each)) - y];
  return width > 0 || height > 0 ? { x, y, width, height } : null;
}

/** The minimum. `Math.min(...values)` would fail: an element may have more quads than a call can have arguments. */
const smallest = (values: readonly number[]): number => values.reduce((least, each) => Math.min(least, each), Infinity);
