/** Pictures whose labels are the references of a snapshot. */
import * as labels from '@berth/page-scripts/read/labels.ts';
import type { Label } from '@berth/page-scripts/read/labels.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import type { Accessibility } from './accessibility.ts';
import type { ExecutionContexts } from '../execution-contexts.ts';
import type { AccessibilityNode, Annotation, Box, ElementRef, Point } from '../page.ts';

const { showLabels, hideLabels } = scriptsOf(labels);

/** More would cover the page. */
const labelsMax = 300;
/** What is as large as the page tells nothing by a frame around it. */
const areas = /^(alertdialog|article|dialog|form|grid|list|main|navigation|region|table|tree|treegrid)$/;

interface AnnotatedArea {
  /** The part of the document that the picture shows, in CSS px. */
  area: Box;
  /** The position to which the document is scrolled, in CSS px. */
  scroll: Point;
  /** Only what is in this element. */
  root: ElementRef | undefined;
}

export interface Annotations {
  shown: Annotation[];
  /** Whether more would have been drawn. */
  isCut: boolean;
}

/** Draws references over a page for the time of a picture. */
export class Annotator {
  readonly #contexts: ExecutionContexts;
  readonly #accessibility: Accessibility;

  constructor(contexts: ExecutionContexts, accessibility: Accessibility) {
    this.#contexts = contexts;
    this.#accessibility = accessibility;
  }

  /** Draws the labels of what can be operated in the area. @throws PageError */
  async show(frameId: string, { area, scroll, root }: AnnotatedArea, by: Deadline): Promise<Annotations> {
    const { nodes, isTruncated } = await this.#accessibility.tree({ ...by.rest(), mode: 'interactive', boxes: true, root });
    const inArea = nodes.flatMap((node) => {
      const annotation = toAnnotation(node, { x: scroll.x - area.x, y: scroll.y - area.y });
      return annotation && overlaps(annotation.box, area) ? [{ node, annotation }] : [];
    });
    const drawn = inArea.slice(0, labelsMax);
    this.#accessibility.remember(drawn.map(({ node }) => node));
    const shown = drawn.map(({ annotation }) => annotation);
    await this.#contexts.call(frameId, showLabels, [{ ...area }, { ...scroll }, shown.map(toLabel) as never], by.rest());
    return { shown, isCut: isTruncated || inArea.length > labelsMax };
  }

  async hide(frameId: string, by: Deadline): Promise<void> {
    await this.#contexts.call(frameId, hideLabels, [], by.rest()).catch(() => {});
  }
}

function toAnnotation({ ref, role, name, box }: AccessibilityNode, offset: Point): Annotation | null {
  if (ref === null || !box || areas.test(role)) return null;
  return { ref, role, name, box: { ...box, x: Math.round(box.x + offset.x), y: Math.round(box.y + offset.y) } };
}

const overlaps = ({ x, y, width, height }: Box, area: Box): boolean =>
  width >= 1 && height >= 1 && x + width > 0 && y + height > 0 && x < area.width && y < area.height;

const toLabel = ({ ref, box }: Annotation): Label => ({ text: ref, ...box });
