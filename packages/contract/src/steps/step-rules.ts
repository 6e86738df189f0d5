/** Rules across the steps of a list: count, depth, unique ids and valid references. */
import type { z } from 'zod';
import type { Step } from './step-nesting.ts';

const totalStepsMax = 500;
const depthMax = 4;
const tooMany = `Input should have at most ${totalStepsMax} steps, including nested ones`;

type Issue = z.core.$ZodRawIssue;
type Path = (string | number)[];
interface ListPosition {
  path: Path;
  depth: number;
  /** The `as` of the enclosing loops over elements. */
  elements: readonly string[];
}

const createIssue = (path: Path, input: unknown, message: string, type = 'value_error'): Issue => ({
  code: 'custom',
  message,
  path,
  input,
  params: { type },
});

/** Counts the steps of a list, also nested ones, before any of them is examined. */
export function tooManySteps(list: readonly unknown[]): { message: string; params: { type: string } } | null {
  const unread = [...list];
  for (let count = 0; unread.length > 0; count += 1) {
    if (count >= totalStepsMax) return { message: tooMany, params: { type: 'too_long' } };
    const step = unread.pop();
    if (typeof step !== 'object' || step === null) continue;
    for (const nested of ['steps' in step && step.steps, 'else' in step && step.else])
      if (Array.isArray(nested)) unread.push(...nested.slice(0, totalStepsMax + 1));
  }
  return null;
}

export function checkSteps(steps: readonly Step[]): Issue[] {
  const issues: Issue[] = [];
  const ids = new Set<string>();
  visitLists(steps, { path: [], depth: 1, elements: [] }, (list, { path, depth, elements }) => {
    if (depth > depthMax && list.length > 0)
      issues.push(createIssue(path, list, `Steps may be nested at most ${depthMax} levels deep`, 'too_deep'));
    for (const [index, step] of list.entries()) {
      const at = [...path, index];
      if (step.id !== undefined && ids.has(step.id))
        issues.push(createIssue([...at, 'id'], step.id, 'This id is already used. Ids must be unique'));
      if (step.id !== undefined) ids.add(step.id);
      if (step.within !== undefined && !elements.includes(step.within))
        issues.push(createIssue([...at, 'within'], step.within, 'Input should be the `as` of an enclosing for_each over selectors'));
      const goto = /^goto:(.*)$/.exec(step.on_error)?.[1];
      if (goto !== undefined && !list.some(({ id }) => id === goto))
        issues.push(createIssue([...at, 'on_error'], step.on_error, 'Input should name the id of a step in the same list'));
    }
  });
  return [...issues, ...checkTabs(steps, ids)];
}

/** Runs when all ids are known: `opened_by` may refer to a later step that ran in an earlier iteration. */
function checkTabs(steps: readonly Step[], ids: ReadonlySet<string>): Issue[] {
  const issues: Issue[] = [];
  visitLists(steps, { path: [], depth: 1, elements: [] }, (list, { path }) => {
    for (const [index, { tab }] of list.entries()) {
      const opener = /^opened_by:(.*)$/.exec(tab)?.[1];
      if (opener !== undefined && !ids.has(opener))
        issues.push(createIssue([...path, index, 'tab'], tab, 'Input should name the id of a step'));
    }
  });
  return issues;
}

function visitLists(list: readonly Step[], position: ListPosition, visit: (list: readonly Step[], position: ListPosition) => void): void {
  visit(list, position);
  // The excess depth is reported already. A body may be nested a thousand levels deep.
  if (position.depth > depthMax) return;
  const descend = (inner: readonly Step[], path: Path, elements: readonly string[]) =>
    visitLists(inner, { path, depth: position.depth + 1, elements }, visit);
  for (const [index, step] of list.entries()) {
    const at = [...position.path, index];
    if (step.type === 'if') {
      descend(step.steps, [...at, 'steps'], position.elements);
      descend(step.else, [...at, 'else'], position.elements);
    }
    if (step.type === 'repeat') descend(step.steps, [...at, 'steps'], position.elements);
    if (step.type === 'for_each')
      descend(step.steps, [...at, 'steps'], step.selectors ? [...position.elements, step.as] : position.elements);
  }
}
