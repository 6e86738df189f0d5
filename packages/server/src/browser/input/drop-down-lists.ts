/** Finds the drop-down list that a press or a key would open. */
import * as lists from '../../page-scripts/lists.ts';
import * as shared from '../../page-scripts/natives.ts';
import { scriptsOf } from '../../page-scripts/page-scripts.ts';
import type { Deadline } from '../../lib/deadline.ts';
import type { CallOptions, ElementRef, Point, Box } from '../page/model.ts';
import type { PageState } from '../page/page.ts';
import type { ListOption, PromptHandler } from '../tabs/prompt.ts';
import type { RemoteKeyEvent } from './remote-keys.ts';

export interface DropDownList {
  options: readonly ListOption[];
  /** Of the closed list, in the main viewport. */
  box: Box;
}

export interface ListMatch {
  list: DropDownList;
  handler: PromptHandler;
}

/** More than anybody reads; the others are reached by typing. */
const optionsMax = 1000;
const frameDepthMax = 16;
/** A page that is busy for longer gets the press without a list. */
const searchMsMax = 1000;
const answerMsMax = 10_000;
const altBit = 1;

const scripts = scriptsOf(lists, shared);

/** Whether the key opens a list that has the focus, as in a browser on Linux. */
export const opensList = ({ action, key, modifiers }: RemoteKeyEvent): boolean =>
  action === 'down' && (key === ' ' || ((modifiers & altBit) !== 0 && (key === 'ArrowDown' || key === 'ArrowUp')));

export const findListAt = (state: PageState, { x, y }: Point, by: Deadline): Promise<ListMatch | null> =>
  findList(state, by, { script: scripts.listOrFrameAt, at: { x, y } });

export const findFocusedList = (state: PageState, by: Deadline): Promise<ListMatch | null> =>
  findList(state, by, { script: scripts.focusedListOrFrame, at: { x: 0, y: 0 } });

/** @throws PageError */
async function findList(state: PageState, by: Deadline, { script, at }: { script: string; at: Point }): Promise<ListMatch | null> {
  const { frames, contexts, elements } = state;
  const within = (): CallOptions => ({ signal: by.signal, timeoutMs: Math.max(1, Math.min(by.leftMs, searchMsMax)) });
  let point = at;
  let frameId = frames.tab.id;
  for (let depth = 0; depth < frameDepthMax; depth += 1) {
    const [element] = await contexts.find(frameId, script, [point.x, point.y], within());
    if (!element) return null;
    const origin = await contexts.call<Point | null>(frameId, scripts.frameOrigin, [element], within());
    if (!origin) return openList(state, element, within());
    const frame = await elements.contentFrame(element, within());
    elements.release([element]);
    if (!frame) return null;
    frameId = frame.id;
    point = { x: point.x - origin.x, y: point.y - origin.y };
  }
  return null;
}

async function openList({ contexts, elements, frames }: PageState, element: ElementRef, within: CallOptions): Promise<ListMatch | null> {
  const box = await elements.box(element, within);
  const options = await contexts.call<ListOption[]>(element.frameId, scripts.openList, [element, optionsMax], within);
  if (!box) return null;
  const release = (): void => elements.release([element]);
  const answer: PromptHandler['answer'] = async ({ accept, option }) => {
    const timeoutMs = frames.timeoutScale.ms(answerMsMax);
    const call = { signal: frames.tab.closed.signal, timeoutMs };
    try {
      if (accept && option !== undefined) await contexts.call(element.frameId, scripts.chooseOption, [element, option], call);
    } finally {
      release();
    }
  };
  return { list: { options, box }, handler: { answer, cancel: release } };
}
