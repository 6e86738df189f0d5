import { readFileSync } from 'node:fs';
import { ServiceError, type Endpoint } from '@berth/contract';
import type { Call, Handler, Routes } from '../../http/call.ts';
import { devAuthorize, devDiscovery, devKeys, devSignIn, devStyle, devToken, openDevAuthorize, openDevSignIn } from './dev-endpoints.ts';
import { parseAuthorization, parseExchange, parsePerson, returnAddress, signInFields } from './dev-forms.ts';
import { issuerAt, tokenSeconds, type DevIssuer } from './dev-issuer.ts';
import { pageHeaders, problemPage, signInPage, tokenPage, type SignInForm } from './dev-pages.ts';
import { hostWithoutPort, isLoopbackHost, isLoopbackUrl } from './loopback.ts';

/** Serves the development issuer. Only for a service that listens on a loopback address. */
export function mountDevIdp(routes: Routes, issuer: DevIssuer): void {
  const style = readFileSync(new URL('dev-pages.css', import.meta.url), 'utf8');
  routes.on(
    devStyle,
    forThisMachine((call) => respond(call, style, { 'content-type': 'text/css; charset=utf-8' })),
  );
  mountPages(routes, issuer);
  mountProtocol(routes, issuer);
}

function mountPages(routes: Routes, issuer: DevIssuer): void {
  routes.on(
    openDevSignIn,
    forThisMachine((call) => showForm(call, {})),
  );
  routes.on(
    devSignIn,
    forThisMachine(async (call) => {
      requireOwnForm(call);
      const fields = signInFields(formOf(call));
      const answer = parsePerson(fields);
      if ('errors' in answer) return showForm(call, { fields, errors: answer.errors });
      return respond(call, tokenPage(answer.person, await issuer.issue(answer.person, call.origin), call.origin), pageHeaders());
    }),
  );
  routes.on(
    openDevAuthorize,
    forThisMachine((call) => {
      const authorization = parseAuthorization(new URL(call.target, call.origin).searchParams, call.origin);
      return 'problem' in authorization ? showProblem(call, authorization.problem) : showForm(call, { authorization });
    }),
  );
  routes.on(
    devAuthorize,
    forThisMachine((call) => {
      requireOwnForm(call);
      const form = formOf(call);
      const authorization = parseAuthorization(form, call.origin);
      if ('problem' in authorization) return showProblem(call, authorization.problem);
      const fields = signInFields(form);
      const answer = parsePerson(fields);
      if ('errors' in answer) return showForm(call, { fields, errors: answer.errors, authorization });
      const code = issuer.grantCode({ ...authorization, person: answer.person });
      call.setStatus(303);
      return respond(call, '', { ...pageHeaders(), location: returnAddress(authorization, { code, issuer: issuerAt(call.origin) }) });
    }),
  );
}

function mountProtocol(routes: Routes, issuer: DevIssuer): void {
  routes.on(
    devToken,
    forThisMachine(async (call) => {
      allowLoopbackPages(call);
      const exchange = parseExchange(formOf(call));
      const token = 'error' in exchange ? null : await issuer.exchange(exchange, call.origin);
      if (token) return { access_token: token.token, token_type: 'Bearer', expires_in: tokenSeconds };
      call.setStatus(400);
      if ('error' in exchange) return { error: exchange.error, error_description: exchange.description };
      return { error: 'invalid_grant', error_description: 'The code is unknown, used, too old, or was issued for another request.' };
    }),
  );
  routes.on(
    devDiscovery,
    forThisMachine((call) => {
      allowLoopbackPages(call);
      return issuer.discovery(call.origin);
    }),
  );
  routes.on(
    devKeys,
    forThisMachine((call) => {
      allowLoopbackPages(call);
      return { ...issuer.keys };
    }),
  );
}

const forThisMachine =
  <E extends Endpoint>(handler: Handler<E>): Handler<E> =>
  (call) => {
    requireLoopback(call);
    return handler(call);
  };

type CallOrigin = Pick<Call, 'header' | 'origin'>;

/**
 * Protects against DNS rebinding: a site whose name resolves to this host is
 * refused by its name.
 *
 * @throws ServiceError origin_not_allowed unless the request names a loopback host
 */
function requireLoopback(call: CallOrigin): void {
  if (isLoopbackHost(hostWithoutPort(call.header('host') ?? '')) && isLoopbackUrl(call.origin)) return;
  throw new ServiceError('origin_not_allowed', 'The development sign-in is available at http://localhost and http://127.0.0.1 only.');
}

/** Programs send no Origin. @throws ServiceError origin_not_allowed for a form of another site's page */
function requireOwnForm(call: CallOrigin): void {
  const origin = call.header('origin');
  if (origin === undefined || URL.parse(origin)?.host === call.header('host')?.toLowerCase()) return;
  throw new ServiceError('origin_not_allowed', 'This form was sent by a page of another site. Open the sign-in page of this service.');
}

/** Lets pages on this host, such as a program in development, read the response (CORS). */
function allowLoopbackPages(call: CallOrigin & Pick<Call, 'setHeader'>): void {
  const origin = call.header('origin');
  call.setHeader('vary', 'origin');
  if (origin !== undefined && isLoopbackUrl(origin)) call.setHeader('access-control-allow-origin', origin);
}

type Reply = Pick<Call, 'setHeader' | 'setStatus'>;

const formOf = ({ rawBody }: Pick<Call, 'rawBody'>): URLSearchParams => new URLSearchParams(rawBody.toString('utf8'));

function respond(call: Reply, body: string, headers: Record<string, string>): string {
  for (const [name, value] of Object.entries(headers)) call.setHeader(name, value);
  return body;
}

function showForm(call: Reply, form: SignInForm): string {
  if (form.errors) call.setStatus(422);
  return respond(call, signInPage(form), pageHeaders(form.authorization?.redirectUri));
}

function showProblem(call: Reply, problem: string): string {
  call.setStatus(400);
  return respond(call, problemPage(problem), pageHeaders());
}
