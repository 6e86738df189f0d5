/** Labels over a page for the time of a picture. Sent as text: these functions use each other and nothing else. */

interface Place {
  x: number;
  y: number;
}

interface Area extends Place {
  width: number;
  height: number;
}

/** A label, at its place in the picture. */
export interface Label extends Area {
  text: string;
}

/**
 * Draws the labels over an area of the document, which is scrolled to `scroll`. A closed shadow root keeps them from the
 * page's scripts and styles, and nothing of them reaches out of the area, so the page does not grow.
 */
export function showLabels(area: Area, scroll: Place, labels: readonly Label[]): void {
  hideLabels();
  const host = document.createElement('div');
  const place = ({ x, y }: Place): string =>
    'all: initial !important; position: absolute !important; overflow: hidden !important; pointer-events: none !important; z-index: 2147483647 !important; ' +
    `left: ${x}px !important; top: ${y}px !important; width: ${area.width}px !important; height: ${area.height}px !important;`;
  host.style.cssText = place(area);
  const root = Element.prototype.attachShadow.call(host, { mode: 'closed' });
  const colors = ['#c4001a', '#0b57d0', '#146c2e', '#7b1fa2', '#a14000'];
  for (const [index, { text, x, y, width, height }] of labels.entries()) {
    const color = colors[index % colors.length] ?? '#000';
    const box = document.createElement('div');
    box.style.cssText = `position: absolute; box-sizing: border-box; left: ${x}px; top: ${y}px; width: ${width}px; height: ${height}px; border: 2px solid ${color};`;
    const label = document.createElement('div');
    label.style.cssText = `position: absolute; left: ${Math.max(0, x)}px; top: ${Math.max(0, y - 14)}px; font: bold 11px/14px sans-serif; padding: 0 3px; color: #fff; background: ${color};`;
    label.textContent = text;
    root.append(box, label);
  }
  document.documentElement.append(host);
  Object.assign(globalThis, { berthLabels: host });
  // A root that is positioned moves what stands in it.
  const { x, y } = Element.prototype.getBoundingClientRect.call(host);
  host.style.cssText = place({ x: 2 * area.x - scroll.x - x, y: 2 * area.y - scroll.y - y });
}

export function hideLabels(): void {
  const scope = globalThis as { berthLabels?: Element };
  scope.berthLabels?.remove();
  delete scope.berthLabels;
}
