/** Builders of clean captures for the tests of the report's sections. */
import type { Entry } from 'har-format';
import type { Capture, CapturedCookie, PageSnapshot } from '../src/capture.ts';
import { createReportInput, type ReportInput } from '../src/exchange.ts';
import type { Secret, SecretKind, SecretPosition } from '../src/secret.ts';

export interface EntryOptions {
  method?: string;
  type?: string;
  status?: number;
  headers?: Record<string, string>;
  /** A value may be a list, for repeated headers. */
  replyHeaders?: Record<string, string | string[]>;
  body?: string;
  reply?: string;
  mimeType?: string;
  page?: string;
  startMs?: number;
  durationMs?: number;
  transferBytes?: number;
  bytes?: number;
  protocol?: string;
  fields?: Record<string, unknown>;
}

export const startTime = Date.parse('2026-03-01T12:00:00.000Z');

const toHeaders = (headers: Record<string, string | string[]>) =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => ({ name, value: each })));

export function entry(url: string, options: EntryOptions = {}): Entry {
  const {
    method = 'GET',
    type = 'document',
    status = 200,
    headers = {},
    replyHeaders = {},
    body,
    reply,
    startMs = 0,
    durationMs = 20,
  } = options;
  const mimeType = options.mimeType ?? mimeTypes[type] ?? 'application/octet-stream';
  return {
    startedDateTime: new Date(startTime + startMs).toISOString(),
    time: durationMs,
    pageref: options.page ?? 'page_1',
    _resourceType: type,
    request: {
      ...{ method, url, httpVersion: options.protocol ?? 'h2', cookies: [], headers: toHeaders(headers), queryString: [], headersSize: -1 },
      bodySize: body?.length ?? 0,
      ...(body === undefined ? {} : { postData: { mimeType: headers['content-type'] ?? 'application/json', text: body } }),
    },
    response: {
      ...{ status, statusText: '', httpVersion: options.protocol ?? 'h2', cookies: [], redirectURL: '', headersSize: -1, bodySize: -1 },
      headers: toHeaders(mimeType === '' ? replyHeaders : { 'content-type': mimeType, ...replyHeaders }),
      content: { size: options.bytes ?? reply?.length ?? 0, mimeType, ...(reply === undefined ? {} : { text: reply }) },
      _transferSize: options.transferBytes ?? options.bytes ?? reply?.length ?? 0,
    },
    cache: {},
    timings: { send: 0, wait: durationMs / 2, receive: durationMs / 2 },
    ...options.fields,
  } as Entry;
}

const mimeTypes: Readonly<Record<string, string>> = {
  document: 'text/html',
  script: 'text/javascript',
  stylesheet: 'text/css',
  image: 'image/png',
  font: 'font/woff2',
  fetch: 'application/json',
  xhr: 'application/json',
};

export const page = (fields: Partial<PageSnapshot> = {}): PageSnapshot => ({
  pageId: 'page_1',
  url: 'https://shop.test/',
  title: 'Shop',
  html: '<html><body></body></html>',
  isHtmlCut: false,
  textChars: 0,
  globals: [],
  dataBlobs: [],
  localStorage: [],
  sessionStorage: [],
  hasServiceWorker: false,
  usesWebAuthn: false,
  vitals: {
    ...{ ttfbMs: null, domContentLoadedMs: null, loadMs: null, fcpMs: null, lcpMs: null, lcpElement: null, cls: null, tbtMs: null },
  },
  coverage: [],
  images: [],
  consoleErrors: [],
  ...fields,
});

export const cookie = (name: string, fields: Partial<CapturedCookie> = {}): CapturedCookie => ({
  name,
  value: `{{cookie_${name.length}}}`,
  domain: 'shop.test',
  path: '/',
  expires: null,
  httpOnly: true,
  secure: true,
  sameSite: 'Lax',
  isPartitioned: false,
  ...fields,
});

export interface SecretOptions {
  kind?: SecretKind;
  jwt?: Partial<NonNullable<Secret['jwt']>>;
  /** `position entryIndex name`, such as `response_body 1 access_token`; `-` stands for null. */
  at?: string[];
}

export function secret(placeholder: string, { kind = 'token', jwt, at = [] }: SecretOptions = {}): Secret {
  return {
    placeholder,
    kind,
    length: 40,
    jwt: jwt ? { alg: null, iss: null, aud: [], claimNames: [], issuedAt: null, expiresAt: null, ...jwt } : null,
    locations: at.map((location) => {
      const [position = '', index = '-', name = '-'] = location.split(' ');
      return { position: position as SecretPosition, entryIndex: index === '-' ? null : Number(index), name: name === '-' ? null : name };
    }),
  };
}

export function inputOf(fields: Partial<Capture> & { entries?: Entry[]; secrets?: Secret[] } = {}): ReportInput {
  const { entries = [entry('https://shop.test/')], secrets = [], ...rest } = fields;
  const capture: Capture = {
    url: 'https://shop.test/',
    har: { log: { version: '1.2', creator: { name: 'test', version: '1' }, pages: [], entries } },
    pages: [],
    cookies: [],
    probes: [],
    actions: [],
    loss: { droppedRequests: 0, droppedBytes: 0, reasons: [] },
    ...rest,
  };
  return createReportInput({ capture, secrets, redactions: { headers: 0, bodyKeys: 0, bodyValues: 0 } });
}
