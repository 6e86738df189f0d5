/** The address in examples, which becomes that at which a page was opened. */
import { escapeHtml } from '@berth/lib/text/html.ts';

const exampleHost = '127.0.0.1:8080';

/** Replaces the address of the examples in a page; `contentType` says whether it must be escaped. */
export function withOrigin(text: string, origin: string, contentType = 'text/html'): string {
  const write = contentType.startsWith('text/html') ? escapeHtml : (address: string) => address;
  return text
    .replaceAll(`http://${exampleHost}`, () => write(origin))
    .replaceAll(`ws://${exampleHost}`, () => write(origin.replace(/^http/, 'ws')));
}
