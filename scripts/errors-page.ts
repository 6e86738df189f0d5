/** Writes docs/errors.md from the contract; with `--check` fails when the file differs. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { closeCodes, errors, type CloseReason, type NavigationFailure } from '../packages/contract/src/contract.ts';
import { viewCloseCodes, type ViewCloseReason } from '../packages/contract/src/live-view.ts';

const file = fileURLToPath(new URL('../docs/errors.md', import.meta.url));

const introduction = `# Errors

An error response has a status, a code and a message:

\`\`\`json
{
  "error": {
    "code": "session_not_found",
    "message": "No such session. It may have been deleted after its retention period.",
    "retryable": false,
    "request_id": "req_01k0",
    "details": {}
  },
  "code": "session_not_found",
  "detail": "No such session. It may have been deleted after its retention period."
}
\`\`\`

Use \`error.code\` in programs; messages may change. When \`error.retryable\` is true, the same request may succeed later: wait for the seconds
in \`Retry-After\`, or for a second, and double the wait with each attempt. The header \`x-should-retry\` says the same. Repeat a POST with the same \`Idempotency-Key\`, so that it takes
effect once. Give \`error.request_id\` to the operator when you report a problem; it leads to the log lines of the request.

A request that breaks its schema gets status 422 and a list of its issues: all of them, or the first hundred and the number of the others in
\`omitted\`:

\`\`\`json
{
  "detail": [
    {
      "loc": ["body", "viewport", "width"],
      "msg": "Input should be greater than or equal to 320",
      "type": "greater_than_equal",
      "input": 10,
      "ctx": { "ge": 320 }
    },
    {
      "loc": ["body", "timeout"],
      "msg": "Extra inputs are not permitted",
      "type": "extra_forbidden",
      "input": 30,
      "ctx": {},
      "hint": "Did you mean \`timeout_seconds\`?"
    }
  ],
  "error": {
    "code": "validation_error",
    "message": "body.viewport.width: Input should be greater than or equal to 320 (and 1 more). Did you mean \`timeout_seconds\`?",
    "hint": "Did you mean \`timeout_seconds\`?",
    "retryable": false,
    "request_id": "req_01k0",
    "details": {}
  },
  "code": "validation_error"
}
\`\`\`

\`loc\` is the location: first \`body\`, \`query\`, \`path\` or \`header\`, then the path to the field. \`hint\` says what to change where the service can guess it. Correct the
request; a retry does not help.

Printed by \`npm run docs:errors\`.
`;

const navigationReasons: Record<NavigationFailure, string> = {
  dns_failed: 'The host name does not resolve. Check the URL.',
  connection_refused: 'The server does not accept connections on this port. Check the host and port, or try again.',
  connection_reset: 'The server or the network closed the connection. Try again.',
  tls_error: 'The certificate is invalid or the handshake failed. Set `ignore_https_errors` only for a site that you trust.',
  timeout: 'The page did not load in time. Use a longer `timeout_ms` or an earlier `wait_until`.',
  proxy_error: 'The upstream proxy refused or failed. Check its address and credentials.',
  aborted: 'The navigation was cancelled, for example by another navigation, or the browser rejected the URL.',
  download: 'The URL is a file and not a page. It is downloaded: `details.download_id` is its id under `GET …/downloads`.',
  blocked_by_policy:
    'The egress policy refused the address. `details.rule` is `not_public`, `port`, `own_address`, `allowed_domains` or `block_ads`; ' +
    'the operator allows the first three with `BERTH_EGRESS_ALLOW`.',
  too_many_redirects: 'The site redirects in a loop. Cookies that the site expects may be missing.',
  page_crashed: 'The page crashed while it was loading. Try again, or open it in a new tab.',
};

const pageReasons = {
  timeout: 'The page or the browser did not respond in time. Use a longer timeout.',
  too_large: 'The result exceeds its maximum size. Capture a smaller area or request less.',
  busy: 'Too many pages are being converted on this worker. Try again.',
  failed: 'The page could not be converted.',
  context_lost: 'The page navigated during the call. Wait until it has loaded.',
  page_crashed: 'The page crashed. Navigate again, or open a new tab.',
  script_failed: 'The page interfered with a script of the call, or the script failed.',
  element_gone: 'The element was removed from the page during the call.',
  frame_gone: 'The frame was removed from the page during the call.',
  not_possible: 'The browser cannot do this with this page or these options; the message has the cause.',
};

const closeReasons: Record<CloseReason, string> = {
  session_ended: 'The session ended on request, or by the disconnection of its last client.',
  idle_timeout: 'The session was idle for longer than its idle timeout. A connected client keeps it from being idle.',
  max_lifetime: 'The session reached its maximum lifetime.',
  unauthorized: 'The API key or connect token was revoked or has expired.',
  browser_crashed: 'The browser, or the machine that it runs in, exited.',
  limit: 'A plan limit ended the session, it has its maximum number of connections, or too much of it is unread or unfinished.',
  credits_exhausted: 'The wallet does not cover the session any longer.',
  service_restart: 'The worker is shutting down. Create a new session.',
};

const viewCloseReasons: Record<ViewCloseReason, string> = {
  session_ended: 'The session ended. In the live view, the last message has the reason.',
  unauthorized: 'The link was revoked or has expired, or its API key was revoked. Request a new link.',
  browser_crashed: 'The browser, or its display, exited.',
  limit: 'The session has its maximum number of viewers, or this viewer does not acknowledge frames.',
  bad_message: 'The page sent an invalid command or too many, or the client sent what the display does not understand.',
  service_restart: 'The worker is shutting down.',
};

/** Codes of the WebSocket protocol that every endpoint may use. */
const protocolCodes = [
  ['1000', '`browser_close`', '`/cdp`: the client sent `Browser.close`.'],
  ['1002', '`protocol_error`', '`/cdp`: the client sent an invalid DevTools message.'],
  ['1003', '`binary_only`', 'VNC: the client sent a text message.'],
  ['1009', '', 'A message is larger than the endpoint allows; `/cdp`: 64 MiB.'],
  ['1011', '`internal_error`', 'An internal error occurred. Connect again.'],
];

const toTable = (head: string[], rows: string[][]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const reasonTable = (reasons: Record<string, string>): string =>
  toTable(
    ['Reason', 'Meaning and what to do'],
    Object.entries(reasons).map(([reason, meaning]) => [`\`${reason}\``, meaning]),
  );

const closeTable = <Reason extends string>(codes: Record<Reason, number>, meanings: Record<Reason, string>): string =>
  toTable(
    ['Code', 'Reason', 'Meaning'],
    (Object.keys(codes) as Reason[]).map((reason) => [String(codes[reason]), `\`${reason}\``, meanings[reason]]),
  );

const errorTable = toTable(
  ['Code', 'Status', 'Retryable', 'When it occurs, and what to do'],
  Object.entries(errors).map(([code, { status, retryable, description }]) => [
    `\`${code}\``,
    String(status),
    retryable ? 'yes' : 'no',
    description,
  ]),
);

const sections = [
  `## Troubleshooting by error code

The response's own \`error.retryable\` may differ from this table, because it considers the reason, too.

${errorTable}`,
  `## Reasons of \`navigation_failed\`

\`error.details.reason\` of a failed navigation; \`error.details.net_error\` has the browser's own error, if there is one.
All reasons are retryable except \`blocked_by_policy\`, \`download\`, \`tls_error\` and \`too_many_redirects\`.

${reasonTable(navigationReasons)}`,
  `## Reasons of \`page_failed\`

\`error.details.reason\` of a failed screenshot, PDF or read of a page. A screenshot of one element may also have a code
of [a failed step](steps.md). Only \`timeout\`, \`busy\`, \`context_lost\` and \`page_crashed\` are retryable.

${reasonTable(pageReasons)}`,
  `## WebSocket close codes

An error before the handshake is an ordinary error response. Later, the socket is closed with a code, and with its reason
as text.

DevTools (\`/v1/session/{session_id}/cdp\`):

${closeTable(closeCodes, closeReasons)}`,
  `Live view and VNC:\n\n${closeTable(viewCloseCodes, viewCloseReasons)}`,
  `Codes of the WebSocket protocol:\n\n${toTable(['Code', 'Reason', 'Meaning'], protocolCodes)}`,
];
const text = `${[introduction, ...sections].join('\n\n').replace('\n\n\n', '\n\n')}\n`;

if (process.argv.includes('--check')) {
  const committed = await readFile(file, 'utf8').catch(() => '');
  if (committed !== text) {
    console.error('docs/errors.md is out of date. Run `npm run docs:errors` and commit the file.');
    process.exitCode = 1;
  }
} else await writeFile(file, text);
