/** What is selected in a page: where the focus is, in whatever frame and process. */
import { safeDom } from './answers.ts';
import type { Deadline } from './session.ts';
import type { Known } from './page.ts';

const mostBytes = 1024 * 1024;
/** Written as JSON each letter may take six. */
const mostAnswerBytes = 8 * mostBytes;
const deepestFrame = 16;

/** Through open shadow roots. Only a frame has anything to do with what is below it. */
const focused = `${safeDom}
  let element = reader(Document, 'activeElement')(document);
  const within = reader(ShadowRoot, 'activeElement');
  for (let depth = 0; element && depth < 64; depth += 1) {
    const root = shadowOf(element);
    const inner = root && within(root);
    if (!inner) break;
    element = inner;
  }
  const name = element ? nameOf(element) : '';
  const isFrame = name === 'iframe' || name === 'frame';`;

/** A field that hides what is in it keeps it. */
const read = `() => {
  ${focused}
  if (isFrame) return { inFrame: true, text: '' };
  const kind = { input: HTMLInputElement, textarea: HTMLTextAreaElement }[name];
  if (name === 'input' && reader(kind, 'type')(element) === 'password') return { inFrame: false, text: '' };
  const start = kind && element instanceof kind ? reader(kind, 'selectionStart')(element) : null;
  const selection = getSelection();
  const text = start === null
    ? selection ? Selection.prototype.toString.call(selection) : ''
    : reader(kind, 'value')(element).slice(start, reader(kind, 'selectionEnd')(element));
  return { inFrame: false, text: text.slice(0, ${mostBytes}) };
}`;

const frameWithFocus = `() => {
  ${focused}
  return isFrame ? element : null;
}`;

/** At most 1 MiB of it. @throws PageError */
export async function readSelection({ frames, worlds, elements }: Known, by: Deadline): Promise<string> {
  const within = (): { signal: AbortSignal; timeoutMs: number } => ({ signal: by.signal, timeoutMs: Math.max(1, by.leftMs) });
  let frameId = frames.tab.id;
  for (let depth = 0; depth < deepestFrame; depth += 1) {
    const { inFrame, text } = await worlds.call<{ inFrame: boolean; text: string }>(frameId, read, [], {
      ...within(),
      maxBytes: mostAnswerBytes,
    });
    if (!inFrame) return cut(text);
    const [element] = await worlds.find(frameId, frameWithFocus, [], within());
    const frame = element ? await elements.contentFrame(element, within()) : null;
    if (element) elements.release([element]);
    if (!frame) return '';
    frameId = frame.id;
  }
  return '';
}

/** Where it ends within a letter, before that. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= mostBytes ? text : new TextDecoder().decode(bytes.subarray(0, mostBytes), { stream: true });
}
