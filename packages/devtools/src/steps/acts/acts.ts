/** The act of each step type. */
import type { PlainStep } from '@berth/contract';
import type { StepAttempt, Act, ActScope } from '../run/attempt.ts';
import { assert } from './assert.ts';
import { evaluate, html, links, markdown, pdf, screenshot } from './capture.ts';
import { extract } from './extract.ts';
import { fill, press, select, type, upload } from './input.ts';
import { back, forward, navigate, reload } from './navigate.ts';
import { drag } from './drag.ts';
import { check, click, hover } from './pointer.ts';
import { scroll } from './scroll.ts';
import { dialog, download, setCookie, setHeader, setViewport } from './settings.ts';
import { snapshot } from './snapshot.ts';
import { wait } from './wait.ts';

const acts: { [T in PlainStep['type']]: Act<T> } = {
  navigate,
  back,
  forward,
  reload,
  click,
  hover,
  fill,
  type,
  press,
  select,
  check,
  upload,
  drag,
  scroll,
  wait,
  extract,
  snapshot,
  screenshot,
  pdf,
  html,
  markdown,
  links,
  download,
  dialog,
  set_cookie: setCookie,
  set_header: setHeader,
  set_viewport: setViewport,
  evaluate,
  assert,
};

export function perform(attempt: StepAttempt, step: PlainStep, scope: ActScope): Promise<unknown> {
  // The type of the table does not relate a step type to its act.
  const act = acts[step.type] as (attempt: StepAttempt, step: PlainStep, scope: ActScope) => Promise<unknown>;
  return act(attempt, step, scope);
}
