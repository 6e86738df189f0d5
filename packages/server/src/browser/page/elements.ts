/** What is asked of and done to single elements, whatever frame and process they stand in. */
import type { Protocol } from 'devtools-protocol';
import { ProtocolError } from '../cdp/connection.ts';
import type { Frames } from './frames.ts';
import { safeDom } from './answers.ts';
import { boundsOf, carryBack, type Geometry } from './geometry.ts';
import { PageError, type Box, type CallOptions, type ElementRef, type FrameRef, type Point } from './model.ts';
import { Deadline } from './session.ts';
import type { Worlds } from './execution-contexts.ts';

/** A page's accessibility tree is made and sent whole; beyond this it takes seconds and tens of megabytes. */
const mostNodesForRoles = 50_000;
const mostTextForRoles = 16 * 1024 * 1024;
const mostElements = 1000;

/** Roles as authors write them, where the browser has another word. */
const browserRoles: Readonly<Record<string, string>> = { img: 'image', directory: 'list' };

/**
 * The topmost at the point must be the element, something in it, or the text of
 * a label that leads to it. A closed shadow root is asked from inside, which is
 * where our element knows it from.
 */
const hitTest = `(target, x, y) => {
  ${safeDom}
  const parentOf = (node) => (typeOf(node) === 1 ? slotOf(node) : null) ?? parentNodeOf(node) ?? hostOf(node);
  const within = (hit) => {
    for (let node = hit; node; node = parentOf(node)) {
      if (node === target) return true;
      if (typeOf(node) === 1 && nameOf(node) === 'label' && node.control === target) return true;
    }
    return false;
  };
  const describe = (hit) => {
    if (!hit) return 'nothing: the point is outside of what is shown';
    for (let inner = hit; inner; inner = shadowOf(inner)?.elementFromPoint(x, y)) {
      if (inner !== hit && rootOf(inner) === rootOf(hit)) break;
      hit = inner;
    }
    const short = (name) => { const value = attributeOf(hit, name); return value ? ' ' + name + '="' + value.slice(0, 60) + '"' : ''; };
    return '<' + nameOf(hit).slice(0, 60) + short('id') + short('class') + '>';
  };
  if (!isConnected(target)) return null;
  const roots = [];
  for (let root = rootOf(target); root; root = hostOf(root) && rootOf(hostOf(root))) roots.unshift(root);
  for (const [index, root] of roots.entries()) {
    const hit = typeOf(root) === 9 ? Document.prototype.elementFromPoint.call(root, x, y) : root.elementFromPoint(x, y);
    if (hit && within(hit)) return { receives: true, instead: '' };
    if (!hit || !roots[index + 1] || hit !== hostOf(roots[index + 1])) return { receives: false, instead: describe(hit) };
  }
  return { receives: false, instead: describe(null) };
}`;

/** The root to search under; nothing where its names would come to too much: each may repeat the text of others. */
const searchable = `(root) => {
  ${safeDom}
  const top = root ?? reader(Document, 'documentElement')(document);
  const all = top ? Element.prototype.getElementsByTagName.call(top, '*') : [];
  if (!top || all.length > ${mostNodesForRoles}) return null;
  const fromContent = 'a, button, h1, h2, h3, h4, h5, h6, summary, option, td, th, tr, label, legend, caption, [role]';
  let size = textOf(top).length;
  for (const each of all) {
    for (const name of ['aria-label', 'title', 'alt', 'placeholder', 'value', 'aria-description', 'aria-roledescription']) size += attributeOf(each, name)?.length ?? 0;
    const ids = (attributeOf(each, 'aria-labelledby') ?? '') + ' ' + (attributeOf(each, 'aria-describedby') ?? '');
    for (const id of ids.trim() === '' ? [] : ids.split(' ')) {
      const named = Document.prototype.getElementById.call(document, id);
      size += named ? textOf(named).length : 0;
    }
    if (Element.prototype.matches.call(each, fromContent)) size += textOf(each).length;
    if (size > ${mostTextForRoles}) return null;
  }
  return top;
}`;

export class Elements {
  readonly #frames: Frames;
  readonly #worlds: Worlds;
  readonly #geometry: Geometry;

  constructor(frames: Frames, worlds: Worlds, geometry: Geometry) {
    this.#frames = frames;
    this.#worlds = worlds;
    this.#geometry = geometry;
  }

  async box(element: ElementRef, options: CallOptions): Promise<Box | null> {
    const by = new Deadline(options);
    const session = await this.#frames.sessionOf(element.frameId, by);
    let quads: number[][];
    try {
      ({ quads } = await session.send('DOM.getContentQuads', { objectId: element.objectId }, by));
    } catch (error) {
      // The browser refuses what is not drawn.
      if (!(error instanceof ProtocolError)) throw error;
      await this.#ensureThere(element, by);
      return null;
    }
    return boundsOf(quads, await this.#geometry.rootToMain(element.frameId, by));
  }

  async receives(element: ElementRef, at: Point, options: CallOptions): Promise<{ receives: boolean; instead: string }> {
    const by = new Deadline(options);
    const steps = await this.#geometry.way(element.frameId, by);
    try {
      for (const [index, { frameId, toMain }] of steps.entries()) {
        const point = carryBack(toMain, at);
        if (!point) return { receives: false, instead: 'nothing: its frame has no size' };
        const hit = await this.#call<{ receives: boolean; instead: string } | null>(
          frameId,
          hitTest,
          [steps[index + 1]?.owner ?? element, point.x, point.y],
          by,
        );
        if (hit === null) throw elementGone();
        if (!hit.receives) return { receives: false, instead: hit.instead };
      }
      return { receives: true, instead: '' };
    } finally {
      this.#geometry.release(steps);
    }
  }

  async scrollIntoView(element: ElementRef, options: CallOptions): Promise<void> {
    await this.#act('DOM.scrollIntoViewIfNeeded', element, { by: new Deadline(options), otherwise: 'The element is not drawn.' });
  }

  async focus(element: ElementRef, options: CallOptions): Promise<void> {
    await this.#act('DOM.focus', element, { by: new Deadline(options), otherwise: 'The element takes no focus.' });
  }

  async setFiles(element: ElementRef, paths: readonly string[], options: CallOptions): Promise<void> {
    const by = new Deadline(options);
    const asked = `(element) => element.localName === 'input' && element.type === 'file' ? (element.multiple || element.webkitdirectory ? 'many' : 'one') : 'none'`;
    const takes = await this.#call<string>(element.frameId, asked, [element], by);
    if (takes !== 'one' && takes !== 'many') throw new PageError('not_possible', 'The element takes no files.');
    if (takes === 'one' && paths.length > 1) throw new PageError('not_possible', 'The element takes only one file.');
    const session = await this.#frames.sessionOf(element.frameId, by);
    try {
      await session.send('DOM.setFileInputFiles', { files: [...paths], objectId: element.objectId }, by);
    } catch (error) {
      await this.#explain(error, element, { by, otherwise: 'The element did not take the files.' });
    }
  }

  async contentFrame(element: ElementRef, options: CallOptions): Promise<FrameRef | null> {
    const by = new Deadline(options);
    const session = await this.#frames.sessionOf(element.frameId, by);
    try {
      const { node } = await session.send('DOM.describeNode', { objectId: element.objectId, depth: 0 }, by);
      if (node.frameId === undefined || node.nodeType !== 1) return null;
      return (await this.#frames.list(by)).find(({ id, parentId }) => id === node.frameId && parentId !== null) ?? null;
    } catch (error) {
      return this.#explain(error, element, { by, otherwise: 'The element was not described.' });
    }
  }

  release(elements: readonly ElementRef[]): void {
    for (const { frameId, objectId } of elements) {
      const session = this.#frames.known(frameId);
      // What is not reached any more is gone with its document.
      session?.sendQuietly('Runtime.releaseObject', { objectId });
    }
  }

  async findByRole(
    frameId: string,
    by: { role?: string; name?: string; exact?: boolean; root?: ElementRef },
    options: CallOptions,
  ): Promise<ElementRef[]> {
    const deadline = new Deadline(options);
    const top = await this.#treeTop(frameId, by.root, deadline);
    const { session } = await this.#worlds.world(frameId, deadline);
    const role = by.role === undefined ? undefined : (browserRoles[by.role] ?? by.role);
    let nodes: Protocol.Accessibility.AXNode[];
    try {
      ({ nodes } = await session.send(
        'Accessibility.queryAXTree',
        { objectId: top.objectId, ...(role === undefined ? {} : { role }) },
        deadline,
      ));
    } catch (error) {
      if (by.root) return await this.#explain(error, by.root, { by: deadline, otherwise: 'The element has no accessibility tree.' });
      throw error instanceof ProtocolError
        ? new PageError('context_lost', 'The page moved on while it was asked.', { cause: error })
        : error;
    } finally {
      if (top !== by.root) session.sendQuietly('Runtime.releaseObject', { objectId: top.objectId });
    }
    return this.#toElements(
      frameId,
      nodes.filter((node) => !node.ignored && hasName(node, by)),
      deadline,
    );
  }

  /** The document's element, which stands for the whole document, where no element bounds the search. */
  async #treeTop(frameId: string, root: ElementRef | undefined, by: Deadline): Promise<ElementRef> {
    if (root && root.frameId !== frameId) throw new PageError('not_possible', 'The element is in another frame.');
    const [top] = await this.#worlds.find(frameId, searchable, root ? [root] : [], { signal: by.signal, timeoutMs: by.leftMs });
    if (!top) throw new PageError('too_large', 'The page is too large to be searched by roles.');
    return top;
  }

  async #toElements(frameId: string, nodes: readonly Protocol.Accessibility.AXNode[], by: Deadline): Promise<ElementRef[]> {
    const ids = [...new Set(nodes.map(({ backendDOMNodeId }) => backendDOMNodeId).filter((id) => id !== undefined))].slice(0, mostElements);
    const resolved = (await Promise.all(ids.map((id) => this.#worlds.resolve(frameId, id, by)))).filter((each) => each !== null);
    if (resolved.length === 0) return [];
    // The tree has texts too, and is ordered as it is read aloud, which authors may change.
    const sort = `(...nodes) => {
      ${safeDom}
      const path = (node) => { const steps = []; for (let at = node; at; at = parentNodeOf(at) ?? hostOf(at)) steps.unshift(at); return steps; };
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
    const order = await this.#call<unknown>(frameId, sort, resolved, by);
    const kept = (Array.isArray(order) ? (order as unknown[]) : [])
      .map((index) => resolved[Number(index)])
      .filter((each) => each !== undefined);
    this.release(resolved.filter((each) => !kept.includes(each)));
    return kept;
  }

  #call<T>(frameId: string, source: string, args: Parameters<Worlds['call']>[2], by: Deadline): Promise<T> {
    return this.#worlds.call<T>(frameId, source, args, { signal: by.signal, timeoutMs: by.leftMs });
  }

  async #act(
    method: 'DOM.focus' | 'DOM.scrollIntoViewIfNeeded',
    element: ElementRef,
    how: { by: Deadline; otherwise: string },
  ): Promise<void> {
    const session = await this.#frames.sessionOf(element.frameId, how.by);
    try {
      await session.send(method, { objectId: element.objectId }, how.by);
    } catch (error) {
      await this.#explain(error, element, how);
    }
  }

  /** Why the browser refused: the element is gone, or else it cannot be done to it. */
  async #explain(error: unknown, element: ElementRef, { by, otherwise }: { by: Deadline; otherwise: string }): Promise<never> {
    if (!(error instanceof ProtocolError)) throw error;
    await this.#ensureThere(element, by);
    throw new PageError('not_possible', otherwise, { cause: error });
  }

  /** @throws PageError `element_gone` */
  async #ensureThere(element: ElementRef, by: Deadline): Promise<void> {
    if (!(await this.#call<boolean>(element.frameId, `(element) => { ${safeDom} return isConnected(element); }`, [element], by)))
      throw elementGone();
  }
}

const elementGone = (): PageError => new PageError('element_gone', 'The element is no longer in the page.');

function hasName({ name }: Protocol.Accessibility.AXNode, by: { name?: string; exact?: boolean }): boolean {
  if (by.name === undefined) return true;
  const text = typeof name?.value === 'string' ? normal(name.value) : '';
  return by.exact ? text === normal(by.name) : text.toLowerCase().includes(normal(by.name).toLowerCase());
}

const normal = (text: string): string => text.replace(/\s+/g, ' ').trim();
