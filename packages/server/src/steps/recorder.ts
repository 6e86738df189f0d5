/** Recordings of the Chrome DevTools Recorder, as steps. */
import { Steps, ValidationError, type Fault, type Step } from '@berth/contract';
import { fault, missing, parsePart } from '../http/faults.ts';

type Recorded = Record<string, unknown>;
/** A step as a caller would have written it. */
type Written = Record<string, unknown>;

/**
 * The steps of a recording as the Recorder exports it in JSON. `loc` is where
 * the recording stands in the request.
 * @throws ValidationError for all that cannot be imported, each with its place in the recording
 */
export function importRecorder(recording: unknown, loc: readonly string[] = ['body', 'recording']): Step[] {
  const recorded = isObject(recording) ? recording['steps'] : undefined;
  if (!isObject(recording))
    throw new ValidationError([fault(loc, { type: 'dict_type', msg: 'Input should be a valid dictionary' }, recording)]);
  if (recorded === undefined) throw new ValidationError([fault([...loc, 'steps'], missing, recording)]);
  if (!Array.isArray(recorded))
    throw new ValidationError([fault([...loc, 'steps'], { type: 'list_type', msg: 'Input should be a valid list' }, recorded)]);
  const importing = new Import([...loc, 'steps'], recording['timeout']);
  for (const [index, step] of recorded.entries()) importing.add(step, index);
  return importing.finish();
}

const isObject = (value: unknown): value is Recorded => typeof value === 'object' && value !== null && !Array.isArray(value);

const modifierNames: Record<string, string> = {
  Alt: 'Alt',
  AltLeft: 'Alt',
  AltRight: 'Alt',
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
const buttons: Record<string, string> = { primary: 'left', auxiliary: 'middle', secondary: 'right' };

class Import {
  readonly #loc: readonly string[];
  readonly #timeout: unknown;
  readonly #steps: Written[] = [];
  /** The recorded step that each came from. */
  readonly #origins: number[] = [];
  readonly #faults: Fault[] = [];
  /** Modifiers that are down. */
  readonly #held = new Set<string>();

  constructor(loc: readonly string[], timeout: unknown) {
    this.#loc = loc;
    this.#timeout = timeout;
  }

  add(recorded: unknown, index: number): void {
    if (!isObject(recorded)) return this.#refuse([index], { type: 'dict_type', msg: 'Input should be a valid dictionary' }, recorded);
    const written = this.#write(recorded, index);
    if (written === null) return;
    const step = { ...written, ...this.#common(recorded, index) };
    const parsed = parsePart('body', Steps, [step]);
    // Behind `body` and the place in the list of one.
    if (!parsed.ok)
      for (const { loc, ...rest } of parsed.faults) this.#faults.push({ ...rest, loc: [...this.#loc, String(index), ...loc.slice(2)] });
    this.#steps.push(step);
    this.#origins.push(index);
  }

  finish(): Step[] {
    if (this.#faults.length > 0) throw new ValidationError(this.#faults);
    const parsed = parsePart('body', Steps, this.#steps);
    if (parsed.ok) return parsed.value as Step[];
    throw new ValidationError(
      parsed.faults.map(({ loc: [, place, ...more], ...rest }) => ({
        ...rest,
        loc: [...this.#loc, ...(place === undefined ? [] : [String(this.#origins[Number(place)] ?? place)]), ...more],
      })),
    );
  }

  #refuse(place: readonly PropertyKey[], words: { type: string; msg: string }, input: unknown): void {
    this.#faults.push(fault([...this.#loc, ...place], words, input));
  }

  #cannot(place: readonly PropertyKey[], what: string, input: unknown): null {
    this.#refuse(place, { type: 'cannot_import', msg: `${what} cannot be imported` }, input);
    return null;
  }

  #common(recorded: Recorded, index: number): Written {
    const { target, frame, timeout = this.#timeout, assertedEvents } = recorded;
    // Navigations are waited for with every click and key, whether they were recorded or not.
    for (const [place, event] of (Array.isArray(assertedEvents) ? assertedEvents : []).entries())
      if (!isObject(event) || event['type'] !== 'navigation')
        this.#cannot([index, 'assertedEvents', place], 'An event that is no navigation', event);
    return {
      ...(typeof timeout === 'number' ? { timeout_ms: Math.min(Math.max(Math.round(timeout), 100), 120_000) } : {}),
      ...(target === undefined || target === 'main' ? {} : { tab: 'newest' }),
      ...this.#frame(frame, index),
    };
  }

  /** The Recorder counts the frames of each document. */
  #frame(frame: unknown, index: number): Written {
    if (frame === undefined || (Array.isArray(frame) && frame.length === 0)) return {};
    if (Array.isArray(frame) && frame.every((place): place is number => Number.isInteger(place)))
      return { frame: frame.map((place) => `xpath/(//iframe | //frame)[${place + 1}]`) };
    this.#cannot([index, 'frame'], 'A frame that is not told by its place', frame);
    return {};
  }

  #write(recorded: Recorded, index: number): Written | null {
    const { type, selectors } = recorded;
    switch (type) {
      case 'setViewport':
        return {
          type: 'set_viewport',
          ...known({ width: recorded['width'], height: recorded['height'], device_scale_factor: recorded['deviceScaleFactor'] }),
        };
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
        return { type, ...known({ container: selectors }), to: { x: recorded['x'] ?? 0, y: recorded['y'] ?? 0 } };
      case 'waitForElement':
        return this.#wait(recorded, index);
      case 'waitForExpression':
        return { type: 'wait', function: recorded['expression'] };
      default:
        return this.#cannot(
          [index, 'type'],
          typeof type === 'string' ? `A step of the type ${type.slice(0, 50)}` : 'A step without a type',
          type,
        );
    }
  }

  #click(recorded: Recorded, index: number): Written | null {
    const { type, selectors, button = 'primary', offsetX: x, offsetY: y, duration } = recorded;
    const wanted = typeof button === 'string' ? buttons[button] : undefined;
    if (wanted === undefined) return this.#cannot([index, 'button'], 'This button', button);
    return {
      type: 'click',
      selectors,
      button: wanted,
      ...known({
        position: x === undefined && y === undefined ? undefined : { x, y },
        modifiers: this.#held.size > 0 ? [...this.#held] : undefined,
      }),
      ...(type === 'doubleClick' ? { count: 2 } : {}),
      ...(typeof duration === 'number' ? { delay_ms: Math.min(Math.round(duration), 1000) } : {}),
    };
  }

  /** A key that goes down is pressed with the modifiers that are down; that it comes up again says nothing more. */
  #key(type: 'keyDown' | 'keyUp', key: unknown, index: number): Written | null {
    if (typeof key !== 'string' || key === '') return this.#cannot([index, 'key'], 'A key without a name', key);
    const modifier = Object.hasOwn(modifierNames, key) ? modifierNames[key] : undefined;
    if (modifier !== undefined) {
      if (type === 'keyDown') this.#held.add(modifier);
      else this.#held.delete(modifier);
      return null;
    }
    return type === 'keyUp' ? null : { type: 'press', keys: [...this.#held, key].join('+') };
  }

  #wait(recorded: Recorded, index: number): Written | null {
    const { selectors, operator, count, visible } = recorded;
    for (const name of ['properties', 'attributes'])
      if (isObject(recorded[name]) && Object.keys(recorded[name]).length > 0)
        return this.#cannot([index, name], 'A wait for properties of an element', recorded[name]);
    if (operator === undefined && count === undefined)
      return { type: 'wait', selectors, state: visible === undefined ? 'attached' : visible === true ? 'visible' : 'hidden' };
    const wanted = count ?? 1;
    const bounds = new Map<unknown, unknown>([
      [undefined, { min: wanted }],
      ['>=', { min: wanted }],
      ['==', wanted],
      ['<=', { max: wanted }],
    ]).get(operator);
    if (bounds === undefined) return this.#cannot([index, 'operator'], 'This comparison', operator);
    return { type: 'assert', selectors, count: bounds, ...(visible === true ? { visible } : {}) };
  }
}

const known = (fields: Written): Written => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
