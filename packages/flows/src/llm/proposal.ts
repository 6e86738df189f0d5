/** What a language model wants to do next, checked: it reads pages, which may mislead it, so it may do what a visitor can. */
import { Steps, type Selectors } from '@berth/contract';
import { z } from 'zod';
import { domainOf } from '@berth/lib/text/domains.ts';
import type { FlowStep } from '../flow.ts';
import { literal } from '../inputs.ts';
import type { AccessiblePage } from '../read/accessible-page.ts';

export const allowedTypes = [
  'navigate',
  'back',
  'click',
  'hover',
  'fill',
  'press',
  'select',
  'check',
  'scroll',
  'wait',
  'extract',
  'markdown',
] as const;
const stepMsMax = 10_000;

export type Proposal =
  | { kind: 'step'; step: FlowStep }
  | { kind: 'done'; result: unknown }
  | { kind: 'failed'; reason: string }
  /** Passed on to the model. */
  | { kind: 'refused'; problem: string };

export interface ProposalContext {
  page: AccessiblePage;
  pageUrl: string;
  /** Secrets are filled in on the site of this URL only. */
  ownUrl: string;
  secretNames: readonly string[];
}

const Reply = z.union([
  z.object({ step: z.looseObject({ type: z.enum(allowedTypes), ref: z.string().optional() }) }),
  z.object({ done: z.unknown() }).refine((reply) => Object.hasOwn(reply, 'done')),
  z.object({ failed: z.string() }),
]);

export function readProposal(text: string, context: ProposalContext): Proposal {
  const parsed = Reply.safeParse(parseJson(text));
  if (!parsed.success)
    return { kind: 'refused', problem: `Reply with one JSON object: step, done or failed. Types: ${allowedTypes.join(', ')}.` };
  if ('failed' in parsed.data) return { kind: 'failed', reason: parsed.data.failed.slice(0, 500) };
  if (!('step' in parsed.data)) return { kind: 'done', result: parsed.data.done ?? null };
  const { ref, ...step } = parsed.data.step;
  const named = ref === undefined ? undefined : context.page.refs[ref];
  if (ref !== undefined && !named) return { kind: 'refused', problem: `There is no element ${ref.slice(0, 20)} on this page.` };
  const filled: FlowStep = {
    timeout_ms: stepMsMax,
    ...literal(step),
    ...(named ? { selectors: literal(named.selectors) } : {}),
    ...(step.type === 'fill' && typeof step['value'] === 'string'
      ? { value: withSecrets(step['value'], named !== undefined && isInDocument(named), context) }
      : {}),
  };
  const checked = Steps.safeParse([filled]);
  if (checked.success) return { kind: 'step', step: filled };
  const { path = [], message = '' } = checked.error.issues[0] ?? {};
  return { kind: 'refused', problem: `The step is not valid: ${path.slice(1).join('.')}: ${message}`.slice(0, 500) };
}

/** A path of selectors leads into a frame, which may be of another site. */
const isInDocument = ({ selectors }: { selectors: Selectors }): boolean => selectors.every((selector) => typeof selector === 'string');

/** `{{secret.name}}` stays a template only in a field of the caller's own site, which the accessibility tree has named. */
function withSecrets(value: string, isNamed: boolean, { pageUrl, ownUrl, secretNames }: ProposalContext): string {
  const escaped = literal(value);
  if (!isNamed || domainOf(pageUrl) !== domainOf(ownUrl)) return escaped;
  return secretNames.reduce((text, name) => text.replaceAll(literal(`{{secret.${name}}}`), `{{secret.${name}}}`), escaped);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\s*```(?:json)?|```\s*$/g, ''));
  } catch {
    return null;
  }
}
