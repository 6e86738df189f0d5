/** Reads the selection of the focused frame, in any process. */
import { safeDom } from './answers.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import type { PageState } from './create-page.ts';

const selectionBytesMax = 1024 * 1024;
/** JSON escapes may take six bytes a character. */
const answerBytesMax = 8 * selectionBytesMax;
const frameDepthMax = 16;

/** Finds the focused element through open shadow roots. */
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

/** Password fields are not read. */
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
  return { inFrame: false, text: text.slice(0, ${selectionBytesMax}) };
}`;

const frameWithFocus = `() => {
  ${focused}
  return isFrame ? element : null;
}`;

/** Returns at most 1 MiB of the selected text. @throws PageError */
export async function readSelection({ frames, contexts, elements }: PageState, by: Deadline): Promise<string> {
  const within = (): { signal: AbortSignal; timeoutMs: number } => by.rest();
  let frameId = frames.tab.id;
  for (let depth = 0; depth < frameDepthMax; depth += 1) {
    const { inFrame, text } = await contexts.call<{ inFrame: boolean; text: string }>(frameId, read, [], {
      ...within(),
      maxBytes: answerBytesMax,
    });
    if (!inFrame) return cut(text);
    const [element] = await contexts.find(frameId, frameWithFocus, [], within());
    const frame = element ? await elements.contentFrame(element, within()) : null;
    if (element) elements.release([element]);
    if (!frame) return '';
    frameId = frame.id;
  }
  return '';
}

/** Cuts at a character boundary. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= selectionBytesMax ? text : new TextDecoder().decode(bytes.subarray(0, selectionBytesMax), { stream: true });
}
