/** Operations on single elements, in any frame and process. */
import type { Protocol } from 'devtools-protocol';
import { ProtocolError } from '../cdp/connection.ts';
import type { Frames } from './frames.ts';
import { safeDom } from './answers.ts';
import * as hits from '@berth/page-scripts/act/hits.ts';
import * as leaving from '@berth/page-scripts/act/leaving.ts';
import * as shared from '@berth/page-scripts/locate/natives.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import { boundsOf, inverseTransform, transform, type Geometry } from './geometry.ts';
import { PageError, type Box, type CallOptions, type ElementRef, type FrameRef, type Point } from './page.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import type { ExecutionContexts } from './execution-contexts.ts';

/** The accessibility tree is built and sent as a whole; beyond this it takes seconds and tens of megabytes. */
const roleSearchNodesMax = 50_000;
const roleSearchCharsMax = 16 * 1024 * 1024;
const elementsMax = 1000;

/** ARIA roles that the browser names differently. */
const browserRoles: Readonly<Record<string, string>> = { img: 'image', directory: 'list' };

const { hitTest } = scriptsOf(hits, shared, leaving);

/** Returns the root of the search; null where computing all names would be too expensive, since each may repeat the text of others. */
export const searchRoot = `(root) => {
  ${safeDom}
  const top = root ?? reader(Document, 'documentElement')(document);
  const all = top ? Element.prototype.getElementsByTagName.call(top, '*') : [];
  if (!top || all.length > ${roleSearchNodesMax}) return null;
  const fromContent = 'a, button, h1, h2, h3, h4, h5, h6, summary, option, td, th, tr, label, legend, caption, [role]';
  let size = textOf(top).length;
  for (const each of all) {
    for (const name of ['aria-label', 'title', 'alt', 'placeholder', 'value', 'aria-description', 'aria-roledescription'])
      size += attributeOf(each, name)?.length ?? 0;
    const ids = (attributeOf(each, 'aria-labelledby') ?? '') + ' ' + (attributeOf(each, 'aria-describedby') ?? '');
    for (const id of ids.trim() === '' ? [] : ids.split(' ')) {
      const named = Document.prototype.getElementById.call(document, id);
      size += named ? textOf(named).length : 0;
    }
    if (Element.prototype.matches.call(each, fromContent)) size += textOf(each).length;
    if (size > ${roleSearchCharsMax}) return null;
  }
  return top;
}`;

export class Elements {
  readonly #frames: Frames;
  readonly #contexts: ExecutionContexts;
  readonly #geometry: Geometry;

  constructor(frames: Frames, contexts: ExecutionContexts, geometry: Geometry) {
    this.#frames = frames;
    this.#contexts = contexts;
    this.#geometry = geometry;
  }

  async box(element: ElementRef, options: CallOptions): Promise<Box | null> {
    const by = new Deadline(options);
    const session = await this.#frames.sessionOf(element.frameId, by);
    let quads: number[][];
    try {
      ({ quads } = await session.send('DOM.getContentQuads', { objectId: element.objectId }, by));
    } catch (error) {
      // The browser rejects elements that are not rendered.
      if (!(error instanceof ProtocolError)) throw error;
      await this.#assertAttached(element, by);
      return null;
    }
    return boundsOf(quads, await this.#geometry.rootToMain(element.frameId, by));
  }

  async toMain(frameId: string, points: readonly Point[], options: CallOptions): Promise<Point[]> {
    const by = new Deadline(options);
    const steps = await this.#geometry.framePath(frameId, by);
    this.#geometry.release(steps);
    const last = steps.at(-1);
    return last ? points.map((point) => transform(last.toMain, point)) : [...points];
  }

  async ancestors(frameId: string, options: CallOptions): Promise<string[]> {
    const main = this.#frames.tab.id;
    if (frameId === main) return [];
    return [main, ...(await this.#frames.chain(frameId, new Deadline(options))).slice(0, -1)];
  }

  async receives(element: ElementRef, at: Point, options: CallOptions): Promise<{ receives: boolean; instead: string }> {
    const by = new Deadline(options);
    const steps = await this.#geometry.framePath(element.frameId, by);
    try {
      for (const [index, { frameId, toMain }] of steps.entries()) {
        const point = inverseTransform(toMain, at);
        if (!point) return { receives: false, instead: 'nothing: its frame has no size' };
        const hit = await this.#call<{ receives: boolean; instead: string } | null>(
          frameId,
          hitTest,
          [steps[index + 1]?.owner ?? element, point.x, point.y],
          by,
        );
        if (hit === null) throw elementDetachedError();
        if (!hit.receives) return { receives: false, instead: hit.instead };
      }
      return { receives: true, instead: '' };
    } finally {
      this.#geometry.release(steps);
    }
  }

  async scrollIntoView(element: ElementRef, options: CallOptions): Promise<void> {
    await this.#sendForElement('DOM.scrollIntoViewIfNeeded', element, {
      by: new Deadline(options),
      message: 'The element is not rendered.',
    });
  }

  async focus(element: ElementRef, options: CallOptions): Promise<void> {
    await this.#sendForElement('DOM.focus', element, { by: new Deadline(options), message: 'The element is not focusable.' });
  }

  async setFiles(element: ElementRef, paths: readonly string[], options: CallOptions): Promise<void> {
    const by = new Deadline(options);
    const fileInputKind = `(element) => {
      if (element.localName !== 'input' || element.type !== 'file') return 'none';
      return element.multiple || element.webkitdirectory ? 'many' : 'one';
    }`;
    const kind = await this.#call<string>(element.frameId, fileInputKind, [element], by);
    if (kind !== 'one' && kind !== 'many') throw new PageError('not_possible', 'The element is not a file input.');
    if (kind === 'one' && paths.length > 1) throw new PageError('not_possible', 'The file input accepts only one file.');
    const session = await this.#frames.sessionOf(element.frameId, by);
    try {
      await session.send('DOM.setFileInputFiles', { files: [...paths], objectId: element.objectId }, by);
    } catch (error) {
      await this.#explain(error, element, { by, message: 'The file input rejected the files.' });
    }
  }

  async contentFrame(element: ElementRef, options: CallOptions): Promise<FrameRef | null> {
    const [frame] = await this.contentFrames([element], options);
    return frame ?? null;
  }

  async contentFrames(elements: readonly ElementRef[], options: CallOptions): Promise<(FrameRef | null)[]> {
    const by = new Deadline(options);
    const ids = await Promise.all(elements.map((element) => this.#contentFrameId(element, by)));
    if (ids.every((id) => id === null)) return elements.map(() => null);
    const frames = new Map((await this.#frames.list(by)).filter(({ parentId }) => parentId !== null).map((frame) => [frame.id, frame]));
    return ids.map((id) => frames.get(id ?? '') ?? null);
  }

  async #contentFrameId(element: ElementRef, by: Deadline): Promise<string | null> {
    const session = await this.#frames.sessionOf(element.frameId, by);
    try {
      const { node } = await session.send('DOM.describeNode', { objectId: element.objectId, depth: 0 }, by);
      return node.nodeType === 1 ? (node.frameId ?? null) : null;
    } catch (error) {
      return this.#explain(error, element, { by, message: 'The element could not be read.' });
    }
  }

  async frameOwner(frameId: string, options: CallOptions): Promise<ElementRef | null> {
    const by = new Deadline(options);
    if (frameId === this.#frames.tab.id) return null;
    const parentId = (await this.#frames.chain(frameId, by)).at(-2) ?? this.#frames.tab.id;
    const session = await this.#frames.sessionOf(parentId, by);
    try {
      const { backendNodeId } = await session.send('DOM.getFrameOwner', { frameId }, by);
      return await this.#contexts.resolve(parentId, backendNodeId, by);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new PageError('frame_detached', 'The frame is no longer in the page.', { cause: error });
    }
  }

  async closedShadowRoot(element: ElementRef, options: CallOptions): Promise<ElementRef | null> {
    const by = new Deadline(options);
    const session = await this.#frames.sessionOf(element.frameId, by);
    try {
      const { node } = await session.send('DOM.describeNode', { objectId: element.objectId, depth: 0 }, by);
      const root = node.shadowRoots?.find(({ shadowRootType }) => shadowRootType === 'closed');
      return root ? await this.#contexts.resolve(element.frameId, root.backendNodeId, by) : null;
    } catch (error) {
      return this.#explain(error, element, { by, message: 'The element could not be read.' });
    }
  }

  release(elements: readonly ElementRef[]): void {
    for (const { frameId, objectId } of elements) {
      const session = this.#frames.cachedSession(frameId);
      // Without a session its document has been replaced.
      session?.sendNoReply('Runtime.releaseObject', { objectId });
    }
  }

  async findByRole(
    frameId: string,
    by: { role?: string; name?: string; exact?: boolean; root?: ElementRef },
    options: CallOptions,
  ): Promise<ElementRef[]> {
    const deadline = new Deadline(options);
    const top = await this.#treeTop(frameId, by.root, deadline);
    const { session } = await this.#contexts.context(frameId, deadline);
    const role = by.role === undefined ? undefined : (browserRoles[by.role] ?? by.role);
    let nodes: Protocol.Accessibility.AXNode[];
    try {
      ({ nodes } = await session.send(
        'Accessibility.queryAXTree',
        { objectId: top.objectId, ...(role === undefined ? {} : { role }) },
        deadline,
      ));
    } catch (error) {
      if (by.root) return await this.#explain(error, by.root, { by: deadline, message: 'The element has no accessibility tree.' });
      throw error instanceof ProtocolError ? new PageError('context_lost', 'The page navigated during the call.', { cause: error }) : error;
    } finally {
      if (top !== by.root) session.sendNoReply('Runtime.releaseObject', { objectId: top.objectId });
    }
    return this.#toElements(
      frameId,
      nodes.filter((node) => !node.ignored && hasName(node, by)),
      deadline,
    );
  }

  /** The given root, or the document element. */
  async #treeTop(frameId: string, root: ElementRef | undefined, by: Deadline): Promise<ElementRef> {
    if (root && root.frameId !== frameId) throw new PageError('not_possible', 'The element belongs to another frame.');
    const [top] = await this.#contexts.find(frameId, searchRoot, root ? [root] : [], by.rest());
    if (!top) throw new PageError('too_large', 'The page is too large for a search by role. Use a CSS or text selector.');
    return top;
  }

  async #toElements(frameId: string, nodes: readonly Protocol.Accessibility.AXNode[], by: Deadline): Promise<ElementRef[]> {
    const ids = [...new Set(nodes.map(({ backendDOMNodeId }) => backendDOMNodeId).filter((id) => id !== undefined))].slice(0, elementsMax);
    const resolved = (await Promise.all(ids.map((id) => this.#contexts.resolve(frameId, id, by)))).filter((each) => each !== null);
    if (resolved.length === 0) return [];
    // The tree also has text nodes, and its order may differ from the document's (aria-owns).
    const sort = `(...nodes) => {
      ${safeDom}
      const path = (node) => {
        const steps = [];
        for (let at = node; at; at = parentNodeOf(at) ?? hostOf(at)) steps.unshift(at);
        return steps;
      };
      const before = (one, other) => {
        const at = one.path.findIndex((node, index) => node !== other.path[index]);
        if (at === -1 || at >= other.path.length) return at === -1 ? -1 : 1;
        const [left, right] = [one.path[at], other.path[at]];
        if (hostOf(left) || hostOf(right)) return hostOf(left) ? -1 : 1;
        return Node.prototype.compareDocumentPosition.call(left, right) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
      };
      const elements = nodes.map((node, index) => ({ node, index })).filter(({ node }) => typeOf(node) === 1 && isConnected(node));
      return elements.map((each) => ({ ...each, path: path(each.node) })).sort(before).map(({ index }) => index);
    }`;
    const sorted = await this.#call<unknown>(frameId, sort, resolved, by);
    const elements = (Array.isArray(sorted) ? (sorted as unknown[]) : [])
      .map((index) => resolved[Number(index)])
      .filter((each) => each !== undefined);
    this.release(resolved.filter((each) => !elements.includes(each)));
    return elements;
  }

  #call<T>(frameId: string, source: string, args: Parameters<ExecutionContexts['call']>[2], by: Deadline): Promise<T> {
    return this.#contexts.call<T>(frameId, source, args, by.rest());
  }

  async #sendForElement(
    method: 'DOM.focus' | 'DOM.scrollIntoViewIfNeeded',
    element: ElementRef,
    how: { by: Deadline; message: string },
  ): Promise<void> {
    const session = await this.#frames.sessionOf(element.frameId, how.by);
    try {
      await session.send(method, { objectId: element.objectId }, how.by);
    } catch (error) {
      await this.#explain(error, element, how);
    }
  }

  /** Throws the reason of a rejection: the element is detached, or the operation is not possible. */
  async #explain(error: unknown, element: ElementRef, { by, message }: { by: Deadline; message: string }): Promise<never> {
    if (!(error instanceof ProtocolError)) throw error;
    await this.#assertAttached(element, by);
    throw new PageError('not_possible', message, { cause: error });
  }

  /** @throws PageError `element_detached` */
  async #assertAttached(element: ElementRef, by: Deadline): Promise<void> {
    if (!(await this.#call<boolean>(element.frameId, `(element) => { ${safeDom} return isConnected(element); }`, [element], by)))
      throw elementDetachedError();
  }
}

const elementDetachedError = (): PageError => new PageError('element_detached', 'The element is no longer in the page.');

function hasName({ name }: Protocol.Accessibility.AXNode, by: { name?: string; exact?: boolean }): boolean {
  if (by.name === undefined) return true;
  const text = typeof name?.value === 'string' ? normalizeSpace(name.value) : '';
  return by.exact ? text === normalizeSpace(by.name) : text.toLowerCase().includes(normalizeSpace(by.name).toLowerCase());
}

const normalizeSpace = (text: string): string => text.replace(/\s+/g, ' ').trim();
