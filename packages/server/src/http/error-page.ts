/** Errors as HTML, for a person who opens a link in a browser. */
import type { IncomingMessage } from 'node:http';

/** Renders the page. `message` is already escaped for HTML. */
export type ErrorPage = (status: number, message: string) => string;

/** Whether a browser navigates here. Programs and scripts of pages send another `Accept`. */
export const prefersHtml = ({ method, headers }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.accept ?? '');

export const errorPageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
};
