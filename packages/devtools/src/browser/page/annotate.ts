/** Pictures whose labels are the references of a snapshot. */
import * as labels from '@berth/page-scripts/read/labels.ts';
import type { Label } from '@berth/page-scripts/read/labels.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import type { AccessibilityNode, Box, CallOptions, Page } from './page.ts';

const { showLabels, hideLabels } = scriptsOf(labels);

/** More would cover the page. */
const labelsMax = 300;
/** What is as large as the page tells nothing by a frame around it. */
const areas = /^(alertdialog|article|dialog|form|grid|list|main|navigation|region|table|tree|treegrid)$/;

export interface Annotation {
  ref: string;
  role: string;
  name: string;
  box: Box;
}

/** Takes a picture while the labels of what can be operated in view are drawn, and returns them. @throws PageError */
export async function withAnnotations<T>(
  page: Page,
  options: CallOptions,
  capture: () => Promise<T>,
): Promise<{ picture: T; annotations: Annotation[] }> {
  const request = { mode: 'interactive', boxes: true, urls: false, maxTokens: 32_000 } as const;
  const { nodes } = await page.snapshot(request, options);
  const shown = nodes.flatMap(toAnnotation).slice(0, labelsMax);
  const drawn = await page.call<unknown>(page.mainFrame(), showLabels, [shown.map(toLabel) as never], options);
  try {
    const positions = new Set(Array.isArray(drawn) ? (drawn as unknown[]) : []);
    return { picture: await capture(), annotations: shown.filter((_, index) => positions.has(index)) };
  } finally {
    await page.call(page.mainFrame(), hideLabels, [], options).catch(() => {});
  }
}

const toAnnotation = ({ ref, role, name, box }: AccessibilityNode): Annotation[] =>
  ref === null || !box || areas.test(role) ? [] : [{ ref, role, name, box }];

const toLabel = ({ ref, box }: Annotation): Label => ({ text: ref, ...box });
