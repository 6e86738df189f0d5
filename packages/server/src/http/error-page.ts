/** Errors for a person who has opened a link in a browser: the same answer, to be read. */
import type { Auth } from '@berth/contract';
import type { IncomingMessage } from 'node:http';

/** Makes the page. `message` is HTML: text, with all that HTML takes for markup escaped. */
export type ErrorPage = (status: number, message: string) => string;

/** Whether people come here by links: to pages, and to what pages load. */
export const takesLinks = (auth: Auth): boolean => auth === 'view' || auth === 'vnc' || auth === 'recording';

/** Whether it is a browser that shows what it is answered. Programs, and scripts of pages, ask for anything. */
export const wantsPage = ({ method, headers }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.accept ?? '');

export const errorPageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
};

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** For text, and for values in quotes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? '');
