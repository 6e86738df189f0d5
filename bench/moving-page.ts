/**
 * A constantly changing page: an animated canvas and many small elements that
 * move over text. At 1280×720 its JPEG has some 100 KB, like a busy web page.
 */
const elements = 40;
const lines = 12;
const words = 'a page that is watched while it moves shows text and colours and edges of every kind'.split(' ');

const text = Array.from({ length: lines }, (_, line) => {
  const row = Array.from({ length: 11 }, (_, i) => words[(line * 7 + i * 3) % words.length]).join(' ');
  return `<p>${row}</p>`;
}).join('');

const wanderers = Array.from({ length: elements }, (_, i) => {
  const [left, top, seconds] = [(i * 211) % 1180, (i * 97) % 640, 2 + (i % 7)];
  return `<i style="left:${left}px;top:${top}px;background:hsl(${(i * 47) % 360} 70% 55%);animation-duration:${seconds}s">${i}</i>`;
}).join('');

export const movingStyle = `
body { margin: 0; width: 1280px; height: 720px; overflow: hidden; position: relative; font: 22px/60px sans-serif; background: #fafafa }
p { margin: 0 8px; white-space: nowrap; overflow: hidden }
canvas { position: absolute; left: 400px; top: 220px }
i { position: absolute; width: 72px; height: 44px; border-radius: 6px; text-align: center }
i { animation: wander linear infinite alternate; will-change: transform }
@keyframes wander { from { transform: translate(-40px, -30px) rotate(0) } to { transform: translate(60px, 50px) rotate(90deg) } }`;

export const movingScript = `
const brush = document.querySelector('canvas').getContext('2d');
const { width, height } = brush.canvas;
function draw(ms) {
  const x = width / 2 + (width / 3) * Math.cos(ms / 700);
  const y = height / 2 + (height / 3) * Math.sin(ms / 900);
  const gradient = brush.createRadialGradient(x, y, 10, width / 2, height / 2, width);
  for (let stop = 0; stop <= 8; stop += 1) gradient.addColorStop(stop / 8, 'hsl(' + ((ms / 20 + stop * 45) % 360) + ' 80% 60%)');
  brush.fillStyle = gradient;
  brush.fillRect(0, 0, width, height);
  brush.fillStyle = '#222';
  for (let line = 0; line < 8; line += 1) brush.fillText('frame at ' + ms.toFixed(1) + ' ms, line ' + line, 20 + line * 9, 30 + line * 26);
  requestAnimationFrame(draw);
}
requestAnimationFrame(draw);`;

export const movingPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Moving</title>
<link rel="stylesheet" href="/moving.css"></head>
<body>${text}<canvas width="480" height="270"></canvas>${wanderers}<script src="/moving.js"></script></body></html>`;
