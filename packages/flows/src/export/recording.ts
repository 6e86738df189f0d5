/** Exports steps as a recording of the Chrome DevTools Recorder, which `importRecorder` reads again. */
import { customStepName, isChord, parseChord } from '@berth/devtools';
import type { FlowStep } from '../flow.ts';

type Recorded = Record<string, unknown>;

/** null for an empty list, and for one that calls flows: no import knows them. */
export function exportRecording(title: string, steps: readonly FlowStep[]): Recorded | null {
  if (steps.length === 0 || steps.some(({ type }) => type === 'call')) return null;
  return { title, steps: steps.flatMap(toRecorded) };
}

/** Fields that change what a step does and that a recorded step has no place for. */
const unrecorded = ['if', 'save_as', 'on_error', 'optional', 'retries', 'within', 'frame', 'tab'];

function toRecorded(step: FlowStep): Recorded[] {
  const recorded = unrecorded.some((name) => name in step && !isDefault(name, step[name])) ? null : toKnown(step);
  return recorded ?? [{ type: 'customStep', name: customStepName, parameters: step }];
}

const defaults: Record<string, unknown> = { on_error: 'fail', optional: false, retries: 0, tab: 'main' };
const isDefault = (name: string, value: unknown): boolean => value === undefined || defaults[name] === value;

const buttons: Record<string, string> = { left: 'primary', middle: 'auxiliary', right: 'secondary' };

function toKnown(step: FlowStep): Recorded[] | null {
  const { type, selectors } = step;
  const at = { selectors };
  switch (type) {
    case 'navigate':
      return [{ type, url: step['url'] }];
    case 'set_viewport':
      return [{ type: 'setViewport', ...sizeOf(step) }];
    case 'click':
      return toClick(step);
    case 'hover':
      return [{ type, ...at }];
    case 'fill':
      return step['clear'] === false ? null : [{ type: 'change', ...at, value: step['value'] }];
    case 'press':
      return selectors === undefined ? toKeys(step['keys']) : null;
    case 'wait':
      return toWait(step);
    default:
      return null;
  }
}

const sizeOf = (step: FlowStep): Recorded => ({
  width: step['width'],
  height: step['height'],
  deviceScaleFactor: step['device_scale_factor'] ?? 1,
  isMobile: false,
  hasTouch: false,
  isLandscape: false,
});

function toClick({ selectors, button = 'left', count = 1, position, modifiers = [] }: FlowStep): Recorded[] | null {
  const name = buttons[String(button)];
  if (name === undefined || (count !== 1 && count !== 2) || (modifiers as unknown[]).length > 0) return null;
  const { x, y } = (position ?? {}) as { x?: number; y?: number };
  const offset = position === undefined ? {} : { offsetX: x, offsetY: y };
  return [{ type: count === 2 ? 'doubleClick' : 'click', selectors, ...(button === 'left' ? {} : { button: name }), ...offset }];
}

function toKeys(keys: unknown): Recorded[] | null {
  if (typeof keys !== 'string' || !isChord(keys)) return null;
  const { held, key } = parseChord(keys);
  const names = [...held, key];
  return [...names.map((key) => ({ type: 'keyDown', key })), ...names.toReversed().map((key) => ({ type: 'keyUp', key }))];
}

function toWait({ selectors, state = 'visible', function: expression }: FlowStep): Recorded[] | null {
  if (expression !== undefined) return [{ type: 'waitForExpression', expression }];
  const visible = { visible: true, hidden: false, attached: undefined }[String(state)];
  if (selectors === undefined || state === 'detached') return null;
  return [{ type: 'waitForElement', selectors, ...(visible === undefined ? {} : { visible }) }];
}
