import type { ElementRef, Point } from '../../browser/browser.ts';
import type { Attempt } from '../run/attempt.ts';
import type { DragState } from '../../page-scripts/drag.ts';
import { waitForPoint } from '../locators/ready.ts';
import { scripts } from '../scripts.ts';
import type { Act, StepOf } from './act.ts';

/** The browser tells a page of a drag in its own time. A button that comes up before that drops nothing. */
const tellMs = 1500;
const againMs = 100;

/** A browser that is busy may lose a drag between its start and the first place it comes over; nothing was dropped then. */
const triesMax = 3;

export const drag: Act<'drag'> = async (attempt, step) => {
  for (let tries = 0; tries < triesMax; tries += 1) if (await dragOnce(attempt, step)) return;
  attempt.warn('The page was not told of anything being dragged over the place.');
};

/** False when it came to nothing. */
async function dragOnce(attempt: Attempt, step: StepOf<'drag'>): Promise<boolean> {
  const { signal, page } = attempt;
  const { mouse } = page;
  const { element, point } = await waitForPoint(attempt, step.selectors, step);
  const isDraggable = await page.call<boolean>(element.frameId, scripts.watchDrag, [element], attempt.call());
  await mouse.move(point, { signal });
  await mouse.down({ signal, button: 'left', clickCount: 1 });
  try {
    // A first small move lets the page begin its drag before anything is aimed at: what is dropped on may come into being by it.
    await mouse.move({ x: point.x + 4, y: point.y + 4 }, { signal, steps: 2 });
    const withinMs = page.patience.ms(tellMs, attempt.remainingMs / 4);
    if (isDraggable) await waitForState(attempt, element, { is: ({ started }) => started, withinMs });
    const target = step.to
      ? await waitForPoint(attempt, step.to, { position: step.to_position, force: true })
      : { element, point: moved(point, step.by) };
    await mouse.move(target.point, { signal, steps: step.moves });
    let hasArrived = true;
    for (const shift of [3, 0]) {
      const end = { x: target.point.x + shift, y: target.point.y };
      hasArrived = await comeTo(attempt, element, { start: point, end, isDraggable });
    }
    // What happens in another frame is not seen from here.
    return hasArrived || target.element.frameId !== element.frameId;
  } finally {
    await mouse.up({ signal, button: 'left', clickCount: 1 });
  }
}

/** Moves there until the page was told of it: moves from before the browser was ready for the drag are lost. */
async function comeTo(
  attempt: Attempt,
  element: ElementRef,
  { start, end, isDraggable }: { start: Point; end: Point; isDraggable: boolean },
): Promise<boolean> {
  const { page, world } = attempt;
  const untilMs = world.clock.monotonicMs() + page.patience.ms(tellMs, attempt.remainingMs / 4);
  const is = (state: DragState): boolean => !state.started || hasCome(state, moved(end, { x: -start.x, y: -start.y }));
  do {
    await page.mouse.move(end, { signal: attempt.signal });
    if (!isDraggable || (await waitForState(attempt, element, { is, withinMs: page.patience.ms(againMs) }))) return true;
  } while (world.clock.monotonicMs() < untilMs);
  return false;
}

/** In a frame the page counts from the frame's corner, so what is compared is the way from where the button went down. */
const hasCome = ({ down, over }: DragState, way: Point): boolean =>
  down !== null && over !== null && Math.abs(over.x - down.x - way.x) < 2 && Math.abs(over.y - down.y - way.y) < 2;

async function waitForState(
  attempt: Attempt,
  { frameId }: ElementRef,
  { is, withinMs }: { is: (state: DragState) => boolean; withinMs: number },
): Promise<boolean> {
  const { clock } = attempt.world;
  const startMs = clock.monotonicMs();
  do {
    if (is(await attempt.page.call<DragState>(frameId, scripts.dragState, [], attempt.call()))) return true;
    await attempt.pause(10);
  } while (clock.monotonicMs() - startMs < withinMs);
  return false;
}

const moved = (from: Point, by: Point | undefined): Point => ({ x: from.x + (by?.x ?? 0), y: from.y + (by?.y ?? 0) });
