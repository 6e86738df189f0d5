/**
 * Pages that move an element when it comes into view, or when it is clicked.
 * Each writes into its title how often it was clicked or pressed, or what was
 * typed into it, and `x` for another element.
 */

const tall = '<div style="height:2000px"></div>';
const counting = `<script>let count = 0; const hit = (id) => { document.title = id === 'target' ? String(++count) : 'x' }</script>`;
const button = '<button id="target" onclick="hit(this.id)">Buy</button><button onclick="hit(this.id)">Other</button>';
const double = `<button id="target" onmousedown="hit(this.id)" onclick="banner.style.height = '60px'">Buy</button>
<button onmousedown="hit(this.id)">Other</button>`;
const whenSeen = (change: string): string =>
  `<script>new IntersectionObserver(([entry]) => { if (entry.isIntersecting) { ${change} } }).observe(document.querySelector('#target'))</script>`;
const page = (body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>0</title><body>${counting}${body}</body></html>`;

/** A page that moves a frame of another site when it comes into view. */
const framed = (inner: string): string =>
  page(
    `<script>onmessage = ({ data }) => { data === 'target' ? hit(data) : (document.title = data) }</script>${tall}
    <div id="banner"></div><iframe style="width:600px;height:300px"></iframe>${tall}
    <script>const frame = document.querySelector('iframe')
    frame.src = location.href.replace('127.0.0.1', 'localhost').replace(/\\w+$/, '${inner}')
    new IntersectionObserver(([entry]) => { if (entry.isIntersecting) banner.style.height = '60px' }).observe(frame)</script>`,
  );

export const shiftingPages: Record<string, string> = {
  banner: page(`${tall}<div id="banner"></div>${button}${tall}${whenSeen(`banner.style.height = '60px'`)}`),
  pictures: page(`${tall}${'<img alt="" loading="lazy" src="/shifting/picture.svg">'.repeat(6)}<p>${button}</p>${tall}`),
  header: page(
    `<div id="header" style="position:sticky;top:0;height:40px;background:gold"></div>${tall}${button}${tall}${whenSeen(`header.style.height = '160px'`)}`,
  ),
  double: page(`${tall}<div id="banner"></div>${double}${tall}`),
  frame: framed('inner'),
  field: framed('innerField'),
};

const listed = (listener: string): string =>
  `<script>const seen = []; const note = (mark) => { seen.push(mark); (${listener})(seen.join('')) }</script>`;
/** A button at a place of its own, which notes its presses in small letters, its clicks in capitals and its double clicks as 2. */
const noting = (id: string, top: number): string =>
  `<button style="position:absolute;left:40px;top:${top}px;width:80px;height:40px" onmousedown="note('${id}')"
    onclick="note('${id.toUpperCase()}')" ondblclick="note('2')">${id}</button>`;

/** A page, with a frame of another site at its right, that writes into its title which presses both have received, each in order. */
export const pressedPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>loading</title><body>
${listed(`(text) => { own = text; show() }`)}<script>let own = ''; let framed = ''; const show = () => { document.title = own + '|' + framed }
onmessage = ({ data }) => { framed = data; show() }</script>${noting('a', 40)}${noting('b', 200)}
<iframe style="position:absolute;left:300px;top:0;width:300px;height:400px;border:0"></iframe>
<script>document.querySelector('iframe').src = location.href.replace('127.0.0.1', 'localhost').replace(/\\w+$/, 'innerPressed')</script></body></html>`;

/** The documents in the frames, which are of another site. */
const inner = (body: string): string => `<!doctype html><html lang="en"><meta charset="utf-8"><title>Inner</title><body>
<script>const hit = (id) => parent.postMessage(id || 'x', '*')</script><div style="height:900px"></div>${body}</body></html>`;
export const innerPages: Record<string, string> = {
  inner: inner(button),
  innerPressed: `<!doctype html><html lang="en"><meta charset="utf-8"><title>Inner</title><body>${listed(`(text) => parent.postMessage(text, '*')`)}
${noting('c', 40)}<input style="position:absolute;left:40px;top:200px" aria-label="Name" onmousedown="note('f')" oninput="note(event.data)">
<script>parent.postMessage('', '*')</script></body></html>`,
  innerField: inner('<input id="target" aria-label="Name" oninput="hit(value)"><input aria-label="Other" oninput="hit(\'x\')">'),
};
export const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="80"><rect width="80" height="80" fill="teal"/></svg>';
