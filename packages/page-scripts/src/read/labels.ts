/** Labels over a page for the time of a picture. Sent as text: these functions use each other and nothing else. */

export interface Label {
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Draws the labels that are in view, over everything else, and returns the positions of these. A closed shadow root keeps them from the page's scripts and styles. */
export function showLabels(labels: readonly Label[]): number[] {
  hideLabels();
  const host = document.createElement('div');
  host.style.cssText =
    'all: initial !important; position: fixed !important; inset: 0 !important; pointer-events: none !important; z-index: 2147483647 !important;';
  const root = Element.prototype.attachShadow.call(host, { mode: 'closed' });
  const colors = ['#c4001a', '#0b57d0', '#146c2e', '#7b1fa2', '#a14000'];
  const drawn: number[] = [];
  for (const [index, { text, x, y, width, height }] of labels.entries()) {
    if (x + width <= 0 || y + height <= 0 || x >= innerWidth || y >= innerHeight || width < 1 || height < 1) continue;
    const color = colors[drawn.length % colors.length] ?? '#000';
    const box = document.createElement('div');
    box.style.cssText = `position: fixed; box-sizing: border-box; left: ${x}px; top: ${y}px; width: ${width}px; height: ${height}px; border: 2px solid ${color};`;
    const label = document.createElement('div');
    label.style.cssText = `position: fixed; left: ${Math.max(0, x)}px; top: ${Math.max(0, y - 14)}px; font: bold 11px/14px sans-serif; padding: 0 3px; color: #fff; background: ${color};`;
    label.textContent = text;
    root.append(box, label);
    drawn.push(index);
  }
  document.documentElement.append(host);
  Object.assign(globalThis, { berthLabels: host });
  return drawn;
}

export function hideLabels(): void {
  const scope = globalThis as { berthLabels?: Element };
  scope.berthLabels?.remove();
  delete scope.berthLabels;
}
