/** What must hold between the steps of a list: depth, names, and where they point to. */
import type { z } from 'zod';
import type { Step } from './step-nesting.ts';

const stepsInAllMax = 500;
const depthMax = 4;

type Issue = z.core.$ZodRawIssue;
type Path = (string | number)[];
interface Place {
  path: Path;
  depth: number;
  /** The `as` of the loops over elements around it. */
  elements: readonly string[];
}

const fault = (path: Path, input: unknown, message: string, type = 'value_error'): Issue => ({
  code: 'custom',
  message,
  path,
  input,
  params: { type },
});

export function checkSteps(steps: readonly Step[]): Issue[] {
  const issues: Issue[] = [];
  const ids = new Set<string>();
  let count = 0;
  eachList(steps, { path: [], depth: 1, elements: [] }, (list, { path, depth, elements }) => {
    count += list.length;
    if (depth > depthMax && list.length > 0) issues.push(fault(path, list, `Steps may be nested ${depthMax} deep`, 'too_deep'));
    for (const [index, step] of list.entries()) {
      const at = [...path, index];
      if (step.id !== undefined && ids.has(step.id)) issues.push(fault([...at, 'id'], step.id, 'An id may be given once'));
      if (step.id !== undefined) ids.add(step.id);
      if (step.within !== undefined && !elements.includes(step.within))
        issues.push(fault([...at, 'within'], step.within, 'Input should be the `as` of an enclosing for_each over selectors'));
      const goto = /^goto:(.*)$/.exec(step.on_error)?.[1];
      if (goto !== undefined && !list.some(({ id }) => id === goto))
        issues.push(fault([...at, 'on_error'], step.on_error, 'Input should name the id of a step in the same list'));
    }
  });
  if (count > stepsInAllMax)
    issues.push(fault([], count, `There may be at most ${stepsInAllMax} steps, with all that are nested`, 'too_long'));
  return [...issues, ...checkTabs(steps, ids)];
}

/** Only when all ids are known: a step may look for the tab of one that a loop has run before. */
function checkTabs(steps: readonly Step[], ids: ReadonlySet<string>): Issue[] {
  const issues: Issue[] = [];
  eachList(steps, { path: [], depth: 1, elements: [] }, (list, { path }) => {
    for (const [index, { tab }] of list.entries()) {
      const opener = /^opened_by:(.*)$/.exec(tab)?.[1];
      if (opener !== undefined && !ids.has(opener)) issues.push(fault([...path, index, 'tab'], tab, 'Input should name the id of a step'));
    }
  });
  return issues;
}

function eachList(list: readonly Step[], place: Place, see: (list: readonly Step[], place: Place) => void): void {
  see(list, place);
  // What is too deep has been told; a body may be nested a thousand deep.
  if (place.depth > depthMax) return;
  const into = (inner: readonly Step[], path: Path, elements: readonly string[]) =>
    eachList(inner, { path, depth: place.depth + 1, elements }, see);
  for (const [index, step] of list.entries()) {
    const at = [...place.path, index];
    if (step.type === 'if') {
      into(step.steps, [...at, 'steps'], place.elements);
      into(step.else, [...at, 'else'], place.elements);
    }
    if (step.type === 'repeat') into(step.steps, [...at, 'steps'], place.elements);
    if (step.type === 'for_each') into(step.steps, [...at, 'steps'], step.selectors ? [...place.elements, step.as] : place.elements);
  }
}
