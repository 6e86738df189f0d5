import type { Point } from '../../browser/browser.ts';
import type { StepAttempt, Act, StepOf } from '../run/attempt.ts';
import type { DragState } from '@berth/page-scripts/act/drag.ts';
import { waitForPoint, type Target } from '../locators/ready.ts';
import { pressOn, untilReceived, type Missed } from './press.ts';
import { scripts } from '../scripts.ts';
import { StepError } from '../context.ts';

/** The browser delays drag events. A button released before them drops nothing. */
const dragEventMs = 1500;
const retryIntervalMs = 100;
/** Positions in a document are rounded to its own pixels, which a scaled frame shows larger. */
const nearPx = 3;

/** A busy browser may lose a drag between its start and the first dragover. Nothing was dropped then. */
const attemptsMax = 3;
/** A page that scrolls smoothly is at its end after as many frames; what moves longer follows the mouse. */
const followsMax = 20;

export const drag: Act<'drag'> = async (attempt, step) => {
  for (let attempts = 0; attempts < attemptsMax; attempts += 1) if (await runDrag(attempt, step)) return;
  throw new StepError('click_not_received', `The page received no drag event over the target, ${attemptsMax} times.`);
};

/** False when the browser lost the drag. */
async function runDrag(attempt: StepAttempt, step: StepOf<'drag'>): Promise<boolean> {
  const { signal, page } = attempt;
  const { mouse } = page;
  const { element, point, isDraggable } = await takeHold(attempt, step);
  let endsIn = element.frameId;
  try {
    // A small first move starts the drag: the page may create the drop target only then.
    await mouse.move({ x: point.x + 4, y: point.y + 4 }, { signal, steps: 2 });
    const withinMs = page.timeoutScale.ms(dragEventMs, attempt.leftMs / 4);
    const hasStarted = isDraggable && (await waitForState(attempt, element.frameId, { is: ({ started }) => started, withinMs }));
    const target = await moveToTarget(attempt, step, { element, point });
    // The document under the mouse receives what is dragged.
    const { frameId } = target.element;
    endsIn = frameId;
    if (hasStarted && frameId !== element.frameId) await page.call(frameId, scripts.watchDrag, [target.element], attempt.call());
    let isOverTarget = true;
    for (const shift of [3, 0])
      isOverTarget = await moveUntilOver(attempt, frameId, { end: { x: target.point.x + shift, y: target.point.y }, hasStarted });
    return isOverTarget;
  } finally {
    await mouse.up({ signal, button: 'left', clickCount: 1, dragged: { from: element.frameId, to: endsIn } });
  }
}

/** Presses the mouse on the element, which then follows it. */
async function takeHold(attempt: StepAttempt, step: StepOf<'drag'>): Promise<Target & { isDraggable: boolean }> {
  const { signal, page } = attempt;
  const { mouse } = page;
  const down = (): Promise<void> => mouse.down({ signal, button: 'left', clickCount: 1 });
  let isDraggable = false;
  const held = await untilReceived(attempt, async (round) => {
    const target = await waitForPoint(attempt, step.selectors, step);
    isDraggable = await page.call<boolean>(target.element.frameId, scripts.watchDrag, [target.element], attempt.call());
    if (step.force) {
      await mouse.move(target.point, { signal });
      await down();
      return target;
    }
    let isDown = false;
    const press = async (): Promise<void> => {
      isDown = true;
      await down();
    };
    let result: Missed | Target | null = null;
    try {
      result = await pressOn(attempt, target, { round, modifiers: [], count: 1, press });
      return result;
    } finally {
      if (isDown && (result === null || 'reason' in result)) await mouse.up({ signal, button: 'left', clickCount: 1 });
    }
  });
  return { ...held, isDraggable };
}

/** Moves to where the target is when the mouse arrives: a page may move it while something is dragged. */
async function moveToTarget(attempt: StepAttempt, step: StepOf<'drag'>, from: Target): Promise<Target> {
  const { page, signal } = attempt;
  const { to } = step;
  const find = async (): Promise<Target> =>
    to
      ? waitForPoint(attempt, to, { position: step.to_position, force: true })
      : { element: from.element, point: offsetBy(from.point, step.by) };
  let target = await find();
  await page.mouse.move(target.point, { signal, steps: step.moves });
  const turns = to ? followsMax : 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const again = await find();
    const { x, y } = again.point;
    if (Math.abs(x - target.point.x) < 1 && Math.abs(y - target.point.y) < 1) break;
    target = again;
    await page.mouse.move(target.point, { signal });
  }
  return target;
}

/** Repeats the move until the document receives it: the browser loses moves until it is ready for the drag. */
async function moveUntilOver(
  attempt: StepAttempt,
  frameId: string,
  { end, hasStarted }: { end: Point; hasStarted: boolean },
): Promise<boolean> {
  const { page, context } = attempt;
  const untilMs = context.clock.monotonicMs() + page.timeoutScale.ms(dragEventMs, attempt.leftMs / 4);
  const is = async ({ over }: DragState): Promise<boolean> => {
    if (!over) return false;
    const [at = over] = frameId === page.mainFrame() ? [] : await page.toMain(frameId, [over], attempt.call());
    return Math.abs(at.x - end.x) < nearPx && Math.abs(at.y - end.y) < nearPx;
  };
  do {
    await page.mouse.move(end, { signal: attempt.signal });
    if (!hasStarted || (await waitForState(attempt, frameId, { is, withinMs: page.timeoutScale.ms(retryIntervalMs) }))) return true;
  } while (context.clock.monotonicMs() < untilMs);
  return false;
}

async function waitForState(
  attempt: StepAttempt,
  frameId: string,
  { is, withinMs }: { is: (state: DragState) => boolean | Promise<boolean>; withinMs: number },
): Promise<boolean> {
  const { clock } = attempt.context;
  const startMs = clock.monotonicMs();
  do {
    if (await is(await attempt.page.call<DragState>(frameId, scripts.dragState, [], attempt.call()))) return true;
    await attempt.sleep(10);
  } while (clock.monotonicMs() - startMs < withinMs);
  return false;
}

const offsetBy = (from: Point, by: Point | undefined): Point => ({ x: from.x + (by?.x ?? 0), y: from.y + (by?.y ?? 0) });
