/** Finds the drop-down list, or the picker of a date, time or colour, that a press or a key would open. */
import * as lists from '@berth/page-scripts/read/lists.ts';
import * as shared from '@berth/page-scripts/locate/natives.ts';
import * as pickers from '@berth/page-scripts/act/pickers.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import type { CallOptions, ElementRef, Point } from '../page/page.ts';
import type { PageState } from '../page/create-page.ts';
import type { ControlQuestion, ListOption, PromptHandler } from '../tabs/prompt.ts';
import type { RemoteKeyEvent } from './remote-keys.ts';

/** What the page's script returns; the box is read by the browser. */
type OpenedControl = { kind: 'list'; options: readonly ListOption[] } | Extract<ControlQuestion, { kind: 'picker' }>;

export interface ControlMatch {
  question: ControlQuestion;
  handler: PromptHandler;
}

/** More than anybody reads; the others are reached by typing. */
const optionsMax = 1000;
const frameDepthMax = 16;
/** A page that is busy for longer gets the press without it. Each part of the search may take this long. */
const searchMsMax = 1000;
const answerMsMax = 10_000;
const altBit = 1;

const scripts = scriptsOf(lists, pickers, shared);
const { pickValue } = scriptsOf(pickers, shared);

/** Whether the key opens a list or picker that has the focus, as in a browser on Linux. */
export const opensControl = ({ action, key, modifiers }: RemoteKeyEvent): boolean =>
  action === 'down' && (key === ' ' || ((modifiers & altBit) !== 0 && (key === 'ArrowDown' || key === 'ArrowUp')));

export const findControlAt = (state: PageState, { x, y }: Point, by: Deadline): Promise<ControlMatch | null> =>
  findControl(state, by, { script: scripts.controlOrFrameAt, at: { x, y } });

export const findFocusedControl = (state: PageState, by: Deadline): Promise<ControlMatch | null> =>
  findControl(state, by, { script: scripts.focusedControlOrFrame, at: { x: 0, y: 0 } });

/** @throws PageError */
async function findControl(state: PageState, by: Deadline, { script, at }: { script: string; at: Point }): Promise<ControlMatch | null> {
  const { frames, contexts, elements } = state;
  const callMsMax = frames.timeoutScale.ms(searchMsMax);
  const within = (): CallOptions => by.rest(callMsMax);
  let point = at;
  let frameId = frames.tab.id;
  for (let depth = 0; depth < frameDepthMax; depth += 1) {
    const [element] = await contexts.find(frameId, script, [point.x, point.y], within());
    if (!element) return null;
    const origin = await contexts.call<Point | null>(frameId, scripts.frameOrigin, [element], within());
    if (!origin) return openControl(state, element, within());
    const frame = await elements.contentFrame(element, within());
    elements.release([element]);
    if (!frame) return null;
    frameId = frame.id;
    point = { x: point.x - origin.x, y: point.y - origin.y };
  }
  return null;
}

async function openControl(
  { contexts, elements, frames }: PageState,
  element: ElementRef,
  within: CallOptions,
): Promise<ControlMatch | null> {
  const box = await elements.box(element, within);
  const control = await contexts.call<OpenedControl>(element.frameId, scripts.openControl, [element, optionsMax], within);
  if (!box) return null;
  const question = control.kind === 'list' ? { ...control, box } : control;
  const release = (): void => elements.release([element]);
  const answer: PromptHandler['answer'] = async ({ accept, option, text }) => {
    const timeoutMs = frames.timeoutScale.ms(answerMsMax);
    const call = { signal: frames.tab.closed.signal, timeoutMs };
    try {
      if (!accept) return;
      if (question.kind === 'picker') await contexts.call(element.frameId, pickValue, [element, text ?? ''], call);
      else if (option !== undefined) await contexts.call(element.frameId, scripts.chooseOption, [element, option], call);
    } finally {
      release();
    }
  };
  return { question, handler: { answer, cancel: release } };
}
