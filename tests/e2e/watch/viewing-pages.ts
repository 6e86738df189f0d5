/** Pages for viewing and remote input. They report their events to the site, so no other client is needed. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { eventually } from '../service.ts';
import { page } from '../site.ts';
import { slowMs } from './viewing.ts';

export interface Report {
  /** Path and query of the reporting page. */
  from: string;
  type: string;
  [field: string]: unknown;
}

export class Reports {
  #all: Report[] = [];

  /** All reports since the last `clear`. */
  get all(): readonly Report[] {
    return this.#all;
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      this.#all.push(JSON.parse(text) as Report);
      response.writeHead(204).end();
    });
  };

  clear(): void {
    this.#all = [];
  }

  /** Waits for a report of this type with these fields. */
  async waitFor(type: string, fields: Record<string, unknown> = {}, withinMs = slowMs): Promise<Report> {
    const matches = (report: Report): boolean =>
      report.type === type && Object.entries(fields).every(([name, value]) => report[name] === value);
    return eventually(`the page reports ${type} ${JSON.stringify(fields)}`, () => this.#all.find(matches), withinMs).catch(
      (error: unknown) => {
        throw new Error(`it reported: ${JSON.stringify(this.#all.slice(-20))}`, { cause: error });
      },
    );
  }

  /** The latest report of this type. */
  last(type: string): Report | undefined {
    return this.#all.findLast((report) => report.type === type);
  }
}

/** Defines `say(type, fields)`, which sends reports in order. */
export const reportScript = `<script>
  let telling = Promise.resolve();
  const from = location.pathname + location.search;
  const say = (type, fields = {}) => {
    const body = JSON.stringify({ ...fields, from, type });
    telling = telling.then(() => fetch('/said', { method: 'POST', body, keepalive: true })).catch(() => undefined);
  };
  addEventListener('pageshow', () => say('shown', { width: innerWidth, height: innerHeight }));
  addEventListener('resize', () => say('resized', { width: innerWidth, height: innerHeight }));
</script>`;

const flat = (title: string, colour: string): string =>
  page(title, `${reportScript}<style>html{background:${colour}}</style><script>addEventListener('click', () => say('click'))</script>`);

/** Colours that survive JPEG compression. */
export const red = [220, 20, 20] as const;
export const green = [20, 160, 20] as const;
export const blue = [20, 20, 220] as const;
const css = (colour: readonly number[]): string => `rgb(${colour.join(',')})`;

/** The centres of the elements on `/pad`, in CSS px. */
export const centers = {
  button: { x: 200, y: 140 },
  field: { x: 300, y: 275 },
  textStart: { x: 102, y: 430 },
  textEnd: { x: 690, y: 430 },
  scroller: { x: 900, y: 250 },
  nothing: { x: 1100, y: 640 },
} as const;

const pad = page(
  'Pad',
  `${reportScript}<style>
    body { margin: 0; font: 30px/40px sans-serif }
    body > * { position: absolute; box-sizing: border-box; margin: 0 }
    #button { left: 100px; top: 100px; width: 200px; height: 80px }
    #field { left: 100px; top: 250px; width: 400px; height: 50px; font: inherit }
    #words { left: 100px; top: 410px; width: 600px; white-space: nowrap; overflow: hidden }
    #scroller { left: 700px; top: 100px; width: 400px; height: 300px; overflow: scroll }
    #scroller div { height: 5000px }
  </style>
  <button id="button">Press</button><input id="field" aria-label="Field" value=""><p id="words">Words that can be selected by a drag</p>
  <div id="scroller"><div>long</div></div>
  <script>
    for (const type of ['click', 'dblclick', 'contextmenu', 'mousedown', 'mouseup'])
      addEventListener(type, ({ target, clientX, clientY, button, detail, shiftKey, ctrlKey }) =>
        say(type, { on: target.id, x: clientX, y: clientY, button, count: detail, shift: shiftKey, ctrl: ctrlKey }));
    addEventListener('keydown', ({ key, code, shiftKey, ctrlKey, altKey, metaKey }) => say('key', { key, code, shift: shiftKey, ctrl: ctrlKey, alt: altKey, meta: metaKey }));
    field.addEventListener('input', () => say('typed', { value: field.value }));
    for (const type of ['compositionstart', 'compositionupdate', 'compositionend']) field.addEventListener(type, ({ data }) => say(type, { data }));
    document.addEventListener('selectionchange', () => say('selected', { text: getSelection().toString() }));
    scroller.addEventListener('scroll', () => say('scrolled', { top: scroller.scrollTop }));
  </script>`,
);

/** A colourful box that moves from side to side, every 100 ms or as its query says. A picture costs the processor that draws it. */
const moving = page(
  'Moving',
  `${reportScript}<style>
    html { background: #fff } body { margin: 0; overflow: hidden }
    div { position: absolute; top: 0; width: 30vw; height: 100vh; background: linear-gradient(red, lime, blue) }
  </style><div id="box"></div><script>
    let step = 0;
    const everyMs = Number(new URLSearchParams(location.search).get('every') ?? 100);
    setInterval(() => { step = (step + 1) % 24; box.style.left = Math.abs(12 - step) * 70 / 12 + 'vw'; }, everyMs);
  </script>`,
);

/** Titles that are dangerous when not escaped. */
export const hostileTitle = `<img src=x onerror="document.title='broken out'"><script>alert(1)</script>&amp;`;
export const rightToLeft = 'gnp.\u202Eexe.\u2066drow';
const titled = page(
  'Titled',
  `${reportScript}<script>
    const kinds = { markup: ${JSON.stringify(hostileTitle).replaceAll('<', '\\u003c')}, long: 'long '.repeat(210000), rtl: ${JSON.stringify(rightToLeft)} };
    document.title = kinds[new URLSearchParams(location.search).get('kind')];
  </script>`,
);

/** Reports whether letters of three scripts are rendered, not replacement boxes, which all look the same. */
const letters = page(
  'Letters',
  `${reportScript}<style>body{font-size:120px;margin:20px}</style><p>漢字 한글 かな</p><p id="emoji">😀🎉🚀</p><script>
    const drawn = (text) => {
      const brush = Object.assign(document.createElement('canvas'), { width: 100, height: 100 }).getContext('2d');
      brush.font = '64px sans-serif';
      brush.fillText(text, 10, 75);
      return brush.getImageData(0, 0, 100, 100).data;
    };
    const missing = drawn('\\u{10fffd}').join();
    const isColoured = (text) => { const data = drawn(text); return data.some((value, n) => n % 4 === 0 && data[n + 3] > 200 && Math.abs(value - data[n + 2]) > 60); };
    const isDrawn = (text) => drawn(text).join() !== missing && drawn(text).some((value) => value > 0);
    document.fonts.ready.then(() => say('letters', { cjk: ['漢', '한', 'か'].every(isDrawn), distinct: drawn('漢').join() !== drawn('字').join(), emoji: isDrawn('😀') && ['🎉', '🚀'].every(isColoured) }));
  </script>`,
);

/** Reports the sizes of the window, the screen and the page. */
const sizes = page(
  'Sizes',
  `${reportScript}<style>html{background:${css(green)}}</style><script>
    // A new renderer learns its window size shortly after the first paint.
    const measure = () => outerWidth === 0 ? void setTimeout(measure, 50) : say('sizes', { inner: [innerWidth, innerHeight].join('x'), outer: [outerWidth, outerHeight].join('x'), screen: [screen.width, screen.height].join('x'), barHeight: outerHeight - innerHeight, left: screenX, top: screenY, scale: devicePixelRatio });
    addEventListener('load', measure); addEventListener('resize', measure);
  </script>`,
);

export const viewingPages = (
  reports: Reports,
): Record<string, string | ((request: IncomingMessage, response: ServerResponse) => void)> => ({
  '/said': reports.handle,
  '/red': flat('Red', css(red)),
  '/green': flat('Green', css(green)),
  '/blue': flat('Blue', css(blue)),
  '/pad': pad,
  '/moving': moving,
  '/titled': titled,
  '/letters': letters,
  '/sizes': sizes,
});
