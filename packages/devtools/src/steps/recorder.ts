/** Imports recordings of the Chrome DevTools Recorder as steps. */
import { Steps, ValidationError, issuesMax, type ValidationIssue, type Step } from '@berth/contract';
import { canPress, findKey, isTypedWith } from '../browser/browser.ts';
import { validationIssue, missing, parsePart } from '@berth/lib/validation/issues.ts';

/** The name of the Recorder's custom steps that hold steps of the step language. */
export const customStepName = 'berth';

/** Keys and other steps that become none, too: ten times what a list of steps may have. */
const recordedMax = 500;
const eventsMax = 20;
const warningsMax = 20;
/** Longer than the name of any key. */
const keyCharsShown = 60;

type RecordedStep = Record<string, unknown>;
/** A step as in a request. */
type StepInput = Record<string, unknown>;

export interface ImportedRecording {
  steps: Step[];
  /** What the steps do not do of the recording. */
  warnings: string[];
}

/**
 * The steps of a recording that the Recorder exported as JSON. `loc` is the path
 * of the recording in the request.
 * @throws ValidationError with an issue for each unsupported part of the recording, up to a hundred
 */
export function importRecorder(recording: unknown, loc: readonly string[] = ['body', 'recording']): ImportedRecording {
  const recorded = isObject(recording) ? recording['steps'] : undefined;
  if (!isObject(recording))
    throw new ValidationError([validationIssue(loc, { type: 'dict_type', msg: 'Input should be a valid object' }, recording)]);
  if (recorded === undefined) throw new ValidationError([validationIssue([...loc, 'steps'], missing, recording)]);
  if (!Array.isArray(recorded))
    throw new ValidationError([validationIssue([...loc, 'steps'], { type: 'list_type', msg: 'Input should be a valid list' }, recorded)]);
  if (recorded.length > recordedMax) throw new ValidationError([validationIssue([...loc, 'steps'], tooLong(recordedMax, 'steps'), null)]);
  const importer = new RecordingImporter([...loc, 'steps'], recording['timeout']);
  for (const [index, step] of recorded.entries()) {
    if (importer.hasManyIssues) break;
    importer.add(step, index);
  }
  return importer.finish();
}

const tooLong = (max: number, things: string): { type: string; msg: string; ctx: { max_length: number } } => ({
  type: 'too_long',
  msg: `A recording should have at most ${max} ${things}`,
  ctx: { max_length: max },
});

const isObject = (value: unknown): value is RecordedStep => typeof value === 'object' && value !== null && !Array.isArray(value);

const modifierNames: Record<string, string> = {
  Alt: 'Alt',
  AltLeft: 'Alt',
  AltRight: 'Alt',
  AltGraph: 'AltGraph',
  Control: 'Control',
  ControlLeft: 'Control',
  ControlRight: 'Control',
  Meta: 'Meta',
  MetaLeft: 'Meta',
  MetaRight: 'Meta',
  Shift: 'Shift',
  ShiftLeft: 'Shift',
  ShiftRight: 'Shift',
};
/** ASCII characters that European keyboards have behind AltGr or the Mac's Option. */
const thirdLevel = '@#[]{}|\\~^`';
const buttons: Record<string, string> = { primary: 'left', auxiliary: 'middle', secondary: 'right' };

class RecordingImporter {
  readonly #loc: readonly string[];
  readonly #timeout: unknown;
  readonly #steps: StepInput[] = [];
  /** Per step, the index of the recorded step. */
  readonly #origins: number[] = [];
  readonly #issues: ValidationIssue[] = [];
  readonly #warnings: string[] = [];
  /** Active modifiers. */
  readonly #held = new Set<string>();
  /** The modifier that went down last, while nothing else has happened. */
  #alone: string | null = null;

  constructor(loc: readonly string[], timeout: unknown) {
    this.#loc = loc;
    this.#timeout = timeout;
  }

  get hasManyIssues(): boolean {
    return this.#issues.length >= issuesMax;
  }

  add(recorded: unknown, index: number): void {
    if (!isObject(recorded)) return this.#addIssue([index], { type: 'dict_type', msg: 'Input should be a valid object' }, recorded);
    const input = this.#write(recorded, index);
    if (input === null) return;
    const step = { ...input, ...this.#common(recorded, index) };
    const parsed = parsePart('body', Steps, [step]);
    // Without `body` and the index in the list of one.
    if (!parsed.ok)
      for (const { loc, ...rest } of parsed.issues) this.#issues.push({ ...rest, loc: [...this.#loc, String(index), ...loc.slice(2)] });
    this.#steps.push(step);
    this.#origins.push(index);
  }

  finish(): ImportedRecording {
    if (this.#issues.length > 0) throw new ValidationError(this.#issues.slice(0, issuesMax));
    const parsed = parsePart('body', Steps, this.#steps);
    if (parsed.ok) return { steps: parsed.value as Step[], warnings: this.#warnings };
    throw new ValidationError(
      parsed.issues.map(({ loc: [, position, ...more], ...rest }) => ({
        ...rest,
        loc: [...this.#loc, ...(position === undefined ? [] : [String(this.#origins[Number(position)] ?? position)]), ...more],
      })),
    );
  }

  #addIssue(path: readonly PropertyKey[], message: { type: string; msg: string }, input: unknown): void {
    this.#issues.push(validationIssue([...this.#loc, ...path], message, input));
  }

  #warn(index: number, type: string, message: string): void {
    if (this.#warnings.length < warningsMax) this.#warnings.push(`Step ${index} of the recording (${type}): ${message}`);
  }

  #rejectUnsupported(path: readonly PropertyKey[], subject: string, input: unknown): null {
    this.#addIssue(path, { type: 'cannot_import', msg: `${subject} cannot be imported` }, input);
    return null;
  }

  #common(recorded: RecordedStep, index: number): StepInput {
    const { target, frame, timeout = this.#timeout, assertedEvents } = recorded;
    const events: unknown[] = Array.isArray(assertedEvents) ? assertedEvents : [];
    if (events.length > eventsMax) this.#addIssue([index, 'assertedEvents'], tooLong(eventsMax, 'events for each step'), null);
    // Every click and key waits for navigations, recorded or not.
    for (const [position, event] of events.slice(0, eventsMax).entries())
      if (!isObject(event) || event['type'] !== 'navigation')
        this.#rejectUnsupported([index, 'assertedEvents', position], 'An event other than a navigation', event);
    return {
      ...(typeof timeout === 'number' ? { timeout_ms: Math.min(Math.max(Math.round(timeout), 100), 120_000) } : {}),
      ...(target === undefined || target === 'main' ? {} : { tab: 'newest' }),
      ...this.#frame(frame, index),
    };
  }

  /** The Recorder identifies a frame by its index in each document. */
  #frame(frame: unknown, index: number): StepInput {
    if (frame === undefined || (Array.isArray(frame) && frame.length === 0)) return {};
    if (Array.isArray(frame) && frame.every((position): position is number => Number.isInteger(position)))
      return { frame: frame.map((position) => `xpath/(//iframe | //frame)[${position + 1}]`) };
    this.#rejectUnsupported([index, 'frame'], 'A frame without an index', frame);
    return {};
  }

  #write(recorded: RecordedStep, index: number): StepInput | null {
    const { type, selectors } = recorded;
    if (type !== 'keyDown' && type !== 'keyUp') this.#alone = null;
    switch (type) {
      case 'setViewport':
        return this.#viewport(recorded, index);
      case 'emulateNetworkConditions':
        this.#warn(index, type, 'network conditions are not emulated, so pages load at full speed.');
        return null;
      case 'close':
        this.#warn(index, type, 'the tab stays open.');
        return null;
      case 'navigate':
        return { type, url: recorded['url'] };
      case 'click':
      case 'doubleClick':
        return this.#click(recorded, index);
      case 'hover':
        return { type, selectors };
      case 'change':
        return { type: 'fill', selectors, value: recorded['value'] };
      case 'keyDown':
      case 'keyUp':
        return this.#key(type, recorded['key'], index);
      case 'scroll':
        return { type, ...definedFields({ container: selectors }), to: { x: recorded['x'] ?? 0, y: recorded['y'] ?? 0 } };
      case 'waitForElement':
        return this.#wait(recorded, index);
      case 'waitForExpression':
        return { type: 'wait', function: recorded['expression'] };
      case 'customStep':
        return this.#custom(recorded, index);
      default:
        return this.#rejectUnsupported(
          [index, 'type'],
          typeof type === 'string' ? `A step of the type ${type.slice(0, 50)}` : 'A step without a type',
          type,
        );
    }
  }

  /** A step of this service, which an export has written. */
  #custom({ name, parameters }: RecordedStep, index: number): StepInput | null {
    if (name === customStepName && isObject(parameters)) return parameters;
    return this.#rejectUnsupported([index, 'name'], 'A custom step of another program', name);
  }

  #viewport({ width, height, deviceScaleFactor, isMobile, hasTouch }: RecordedStep, index: number): StepInput {
    if (isMobile === true || hasTouch === true)
      this.#warn(index, 'setViewport', 'only its size and scale are set; the browser is no mobile one and has no touch screen.');
    return { type: 'set_viewport', ...definedFields({ width, height, device_scale_factor: deviceScaleFactor }) };
  }

  #click(recorded: RecordedStep, index: number): StepInput | null {
    const { type, selectors, button = 'primary', offsetX: x, offsetY: y, duration, deviceType = 'mouse' } = recorded;
    if (deviceType !== 'mouse') this.#warn(index, String(type), 'it is clicked with the mouse and not by touch or pen.');
    const expected = typeof button === 'string' ? buttons[button] : undefined;
    if (expected === undefined) return this.#rejectUnsupported([index, 'button'], 'This button', button);
    return {
      type: 'click',
      selectors,
      button: expected,
      ...definedFields({
        position: x === undefined && y === undefined ? undefined : { x, y },
        modifiers: this.#modifiers.length > 0 ? this.#modifiers : undefined,
      }),
      ...(type === 'doubleClick' ? { count: 2 } : {}),
      ...(typeof duration === 'number' ? { delay_ms: Math.min(Math.round(duration), 1000) } : {}),
    };
  }

  /** A keydown becomes a press with the active modifiers; the keyup adds nothing, except of a modifier that was pressed alone. */
  #key(type: 'keyDown' | 'keyUp', key: unknown, index: number): StepInput | null {
    if (typeof key !== 'string' || key === '') return this.#rejectUnsupported([index, 'key'], 'A key without a name', key);
    const modifier = Object.hasOwn(modifierNames, key) ? modifierNames[key] : undefined;
    if (modifier !== undefined) return this.#modifier(type, modifier);
    this.#alone = null;
    if (type === 'keyUp') return null;
    const { held, isExact } = this.#modifiersOf(key);
    const keys = [...held, isExact ? `'${key}'` : key].join('+');
    if (canPress({ held, key, isExact })) return { type: 'press', keys };
    this.#warn(index, type, `no keyboard has ${JSON.stringify(keys.slice(0, keyCharsShown))}, so it is not pressed.`);
    return null;
  }

  #modifier(type: 'keyDown' | 'keyUp', modifier: string): StepInput | null {
    const wasAlone = this.#alone === modifier;
    this.#alone = null;
    if (type === 'keyUp') this.#held.delete(modifier);
    else if (!this.#held.has(modifier)) {
      this.#held.add(modifier);
      this.#alone = modifier;
    }
    return type === 'keyUp' && wasAlone && findKey(modifier) ? { type: 'press', keys: [...this.#modifiers, modifier].join('+') } : null;
  }

  /** Without AltGr, which only says which character a key means. */
  get #modifiers(): string[] {
    return [...this.#held].filter((each) => each !== 'AltGraph');
  }

  /**
   * The modifiers with which our keyboard presses what was recorded. A character is what the recorded keyboard made of
   * them: where ours makes another one of AltGr (Control and Alt on Windows) or Option, it comes without them, and where
   * ours makes another one of Shift, it is exact.
   */
  #modifiersOf(key: string): { held: string[]; isExact: boolean } {
    const isNamed = /^[A-Z][A-Za-z\d]+$/.test(key);
    const isTyped = isNamed || isTypedWith(this.#held.has('Shift'), key);
    const isOption = !isTyped && this.#held.has('Alt') && !this.#held.has('Meta');
    const isThirdLevel = this.#held.has('AltGraph') || (isOption && (thirdLevel.includes(key) || findKey(key) === undefined));
    const held = this.#modifiers.filter((modifier) => !(isThirdLevel && (modifier === 'Alt' || modifier === 'Control')));
    return { held, isExact: !isTyped && held.includes('Shift') };
  }

  #wait(recorded: RecordedStep, index: number): StepInput | null {
    const { selectors, operator, count, visible } = recorded;
    const matches: StepInput = {};
    for (const name of ['properties', 'attributes'] as const) {
      const given = recorded[name];
      if (given === undefined || given === null) continue;
      if (!isObject(given)) return this.#rejectUnsupported([index, name], 'What is no object', given);
      if (Object.keys(given).length > 0) matches[name] = given;
    }
    const hasMatches = Object.keys(matches).length > 0;
    if (operator === undefined && count === undefined && !hasMatches)
      return { type: 'wait', selectors, state: visible === undefined ? 'attached' : visible === true ? 'visible' : 'hidden' };
    if (visible === false && hasMatches)
      return this.#rejectUnsupported([index, 'visible'], 'A wait until elements do not have attributes or properties', visible);
    if (count !== undefined && typeof count !== 'number') return this.#rejectUnsupported([index, 'count'], 'What is no number', count);
    const bounds = toBounds(operator, count ?? 1, visible === false);
    if (bounds === null) return this.#rejectUnsupported([index, 'operator'], 'This comparison', operator);
    return { type: 'assert', selectors, count: bounds, ...matches, ...(visible === true ? { visible } : {}) };
  }
}

/** The Recorder takes `visible: false` for the opposite of the comparison. Null for what cannot be said as bounds. */
function toBounds(operator: unknown, count: number, isNegated: boolean): StepInput | number | null {
  switch (operator) {
    case undefined:
    case '>=':
      return isNegated ? (count > 0 ? { max: count - 1 } : null) : { min: count };
    case '<=':
      return isNegated ? { min: count + 1 } : { max: count };
    case '==':
      return isNegated ? (count === 0 ? { min: 1 } : null) : count;
    default:
      return null;
  }
}

const definedFields = (fields: StepInput): StepInput =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
