/** Input to the page: one command, one step. */
import { basename } from 'node:path';
import { readFile } from 'node:fs/promises';
import type { Action, Context } from '../context.ts';
import { CommandError, exitCodes, usageError } from '../failures.ts';
import { toNumber } from '../options.ts';
import { runStep, toTarget, type StepDraft, type Target } from './steps.ts';

export const click: Action = (context) =>
  runStep(context, { type: 'click', ...toTarget(context.arg(0)), ...clickOptions(context), ...forced(context) });
export const doubleClick: Action = (context) =>
  runStep(context, { type: 'click', ...toTarget(context.arg(0)), count: 2, ...forced(context) });
export const hover: Action = (context) => runStep(context, { type: 'hover', ...toTarget(context.arg(0)), ...forced(context) });
export const fill: Action = (context) =>
  runStep(context, { type: 'fill', ...toTarget(context.arg(0)), value: context.arg(1), ...forced(context) });
export const type: Action = (context) => runStep(context, { type: 'type', ...toTarget(context.arg(0)), text: context.arg(1) });
export const check: Action = (context) => runStep(context, { type: 'check', ...toTarget(context.arg(0)), ...forced(context) });
export const uncheck: Action = (context) =>
  runStep(context, { type: 'check', ...toTarget(context.arg(0)), state: false, ...forced(context) });

const forced = ({ options }: Context): { force?: true } => (options.flag('force') ? { force: true } : {});

function clickOptions({ options }: Context): Record<string, unknown> {
  const button = options.text('button');
  const modifiers = options.list('modifier');
  return {
    ...(button === undefined ? {} : { button }),
    ...(modifiers.length > 0 ? { modifiers } : {}),
    ...(options.flag('double') ? { count: 2 } : {}),
  };
}

export const press: Action = (context) => {
  const target = context.options.text('on');
  return runStep(context, {
    type: 'press',
    ...(target === undefined ? {} : toTarget(target)),
    keys: context.args.length > 1 ? [...context.args] : context.arg(0),
  });
};

export const select: Action = (context) => {
  const values = context.args.slice(1);
  const value = values.length > 1 ? values : values[0];
  const by = context.options.flag('byLabel') ? { label: value } : { value };
  return runStep(context, { type: 'select', ...toTarget(context.arg(0)), ...by, ...forced(context) });
};

/** Pixels of one turn, as most mice have it twice over. */
const scrollPixels = 300;
const directions: Readonly<Record<string, readonly [x: number, y: number]>> = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };

export const scroll: Action = (context) => {
  const [where = '', amount] = context.args;
  const container = context.options.text('in');
  const inside = container === undefined ? {} : { container: selectorsOf(toTarget(container)) };
  if (where === 'top' || where === 'bottom') return runStep(context, { type: 'scroll', to: where, ...inside });
  const direction = directions[where];
  if (!direction) return runStep(context, { type: 'scroll', ...toTarget(where), ...inside });
  const pixels = amount === undefined ? scrollPixels : toNumber(amount, 'The distance');
  return runStep(context, { type: 'scroll', by: { x: direction[0] * pixels, y: direction[1] * pixels }, ...inside });
};

/** A ref as one of a list of selectors. */
const selectorsOf = (target: Target): readonly string[] => ('ref' in target ? [`ref/${target.ref}`] : target.selectors);

export const drag: Action = (context) => {
  const to = toTarget(context.arg(1));
  return runStep(context, { type: 'drag', ...toTarget(context.arg(0)), ...('ref' in to ? { to_ref: to.ref } : { to: to.selectors }) });
};

export const upload: Action = async (context) => {
  const [target = '', ...paths] = context.args;
  const session = context.session();
  const berth = await context.berth();
  const ids: string[] = [];
  for (const path of paths) {
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      throw new CommandError(exitCodes.usage, 'file_unusable', `${path} cannot be read: ${error.code}.`);
    });
    const { file_id } = await berth.sessions.upload(
      session.id,
      { name: basename(path), data_base64: bytes.toString('base64') },
      { signal: context.signal },
    );
    ids.push(file_id);
  }
  return runStep(context, { type: 'upload', ...toTarget(target), file_ids: ids });
};

/** Locators by the words of `find`. */
const finders: Readonly<Record<string, (value: string, name: string | undefined) => string>> = {
  role: (role, name) => `aria/${name ?? ''}[role=${JSON.stringify(role)}]`,
  text: (text) => `text/${text}`,
  label: (text) => `label/${text}`,
  placeholder: (text) => `placeholder/${text}`,
  testid: (id) => `testid/${id}`,
  alt: (text) => `[alt=${JSON.stringify(text)}]`,
  title: (text) => `[title=${JSON.stringify(text)}]`,
  css: (selector) => selector,
};

/** The actions of `find`, each with the word after it. */
const acts: Readonly<Record<string, (target: Target, value: string | undefined) => StepDraft>> = {
  click: (target) => ({ type: 'click', ...target }),
  dblclick: (target) => ({ type: 'click', ...target, count: 2 }),
  hover: (target) => ({ type: 'hover', ...target }),
  check: (target) => ({ type: 'check', ...target }),
  uncheck: (target) => ({ type: 'check', ...target, state: false }),
  fill: (target, value) => ({ type: 'fill', ...target, value: needed(value, 'fill') }),
  type: (target, text) => ({ type: 'type', ...target, text: needed(text, 'type') }),
  press: (target, keys) => ({ type: 'press', ...target, keys: needed(keys, 'press') }),
  select: (target, value) => ({ type: 'select', ...target, value: needed(value, 'select') }),
  text: (target) => ({ type: 'extract', ...target, as: 'text' }),
};

function needed(value: string | undefined, action: string): string {
  if (value === undefined)
    throw usageError(`find … ${action} needs a value after it.`, `berth find label "Email" ${action} "me@example.com"`);
  return value;
}

export const find: Action = (context) => {
  const [by = '', value = '', action = 'click', input] = context.args;
  const finder = finders[by];
  if (!finder) throw usageError(`find knows ${Object.keys(finders).join(', ')}, not ${JSON.stringify(by)}.`);
  const act = acts[action];
  if (!act) throw usageError(`find … knows the actions ${Object.keys(acts).join(', ')}, not ${JSON.stringify(action)}.`);
  return runStep(context, act({ selectors: [finder(value, context.options.text('name'))] }, input));
};

/** The step of `wait` for the word or option that is given. */
export const wait: Action = (context) => {
  const { options } = context;
  const [word] = context.args;
  const state = options.text('state');
  const what = {
    ...(word === undefined
      ? {}
      : /^\d+$/.test(word)
        ? { ms: Number(word) }
        : { ...toTarget(word), ...(state === undefined ? {} : { state }) }),
    ...pick('text', options.text('text')),
    ...pick('url', options.text('url')),
    ...pick('function', options.text('fn')),
    ...(options.text('load') === 'networkidle' || options.flag('idle') ? { network_idle: true } : {}),
  };
  if (Object.keys(what).length === 0) throw usageError('wait needs an element, milliseconds, --text, --url or --idle.');
  return runStep(context, { type: 'wait', ...what });
};

const pick = (name: string, value: string | undefined): Record<string, string> => (value === undefined ? {} : { [name]: value });
