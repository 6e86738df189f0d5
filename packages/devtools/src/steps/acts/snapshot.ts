import type { SnapshotNode, SnapshotOptions, SnapshotResponse } from '@berth/contract';
import type { AccessibilityNode, PageSnapshot, SnapshotRequest } from '../../browser/browser.ts';
import { formatSelectors } from '../locators/locate.ts';
import { waitUntilReady } from '../locators/ready.ts';
import type { Act } from '../run/attempt.ts';

/** Options of a request or a step as a page takes them. */
export const toSnapshotRequest = ({ max_tokens: maxTokens, ...options }: SnapshotOptions): SnapshotRequest => ({ ...options, maxTokens });

export const snapshot: Act<'snapshot'> = async (attempt, step) => {
  const { mode, find, after, since, max_tokens, boxes, urls, selectors, format } = step;
  const root = selectors ? await waitUntilReady(attempt, selectors, ['visible']) : ((await attempt.root()).element ?? undefined);
  const part = selectors ? formatSelectors(selectors) : '';
  const request = toSnapshotRequest({ mode, find, after, since, max_tokens, boxes, urls });
  return toSnapshotResult(await attempt.page.snapshot({ ...request, root, part }, attempt.call()), format);
};

/** A snapshot as callers receive it. */
export function toSnapshotResult(taken: PageSnapshot, format: SnapshotResponse['format']): SnapshotResponse {
  const { id, tabId, url, title, text, nodes, tokens, left, removed, warnings } = taken;
  return {
    ...{ snapshot_id: id, tab_id: tabId, url, title, format },
    ...{ snapshot: format === 'text' ? text : null, nodes: format === 'json' ? nodes.map(toNode) : null },
    ...{ tokens, left, removed, warnings },
  };
}

const toNode = ({ depth, role, name, value, text, states = {}, options, ref, place, box, url }: AccessibilityNode): SnapshotNode => ({
  ...{ depth, role, name, value: orNull(value), text: orNull(text), states, options: options ?? null },
  ...{ ref, place: orNull(place), box, url: url ?? null },
});

const orNull = (text: string | undefined): string | null => (text === undefined || text === '' ? null : text);
