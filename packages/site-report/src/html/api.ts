/** The endpoints of the API, its streams, and how callers authenticate. */
import type { InspectAuth } from '@berth/contract';
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';
import {
  badge,
  code,
  codeOrNone,
  confidence,
  count,
  countText,
  cut,
  duration,
  evidence,
  facets,
  list,
  muted,
  rowsShown,
  seconds,
  section,
  table,
  yesNo,
  type Tone,
} from './parts.ts';
import type { ApiView, EndpointView } from './view.ts';

const endpointsMax = 200;
const schemaCharsMax = 4000;

export function* apiSection(api: ApiView): Generator<void, Markup> {
  const { summary, endpoints, graphql, websockets, event_streams: streams } = api;
  const shown: Markup[] = [];
  for (const each of endpoints.slice(0, endpointsMax)) {
    shown.push(endpoint(each));
    yield;
  }
  const operations = graphql.flatMap(({ endpoint: url, operations: each }) => each.map((operation) => ({ url, ...operation })));
  const more =
    endpoints.length > endpointsMax
      ? html`<p class="muted">The first ${count(endpointsMax)} of ${count(endpoints.length)} endpoints.</p>`
      : nothing;
  return section('api', 'API', [
    html`<p>
      ${countText(summary.endpoints, 'endpoint')} in ${countText(summary.total_calls, 'call')}, of which ${count(summary.errors_4xx)} were
      answered with a status of 4xx and ${count(summary.errors_5xx)} with one of 5xx.
    </p>`,
    html`<div class="endpoints">${shown}</div>`,
    more,
    table({
      caption: 'GraphQL operations',
      head: ['Endpoint', 'Operation', 'Type', 'Calls'],
      numeric: [3],
      rows: operations
        .slice(0, rowsShown)
        .map(({ url, name, type, calls }) => [code(url), codeOrNone(name, 'unnamed'), type, count(calls)]),
      total: operations.length,
    }),
    table({
      caption: 'WebSockets',
      head: ['URL', 'Protocol', 'Sent', 'Received'],
      numeric: [2, 3],
      rows: websockets.map(({ url, protocol_guess: protocol, frames_sent: sent, frames_received: received, ...claim }) => [
        code(url),
        html`${protocol} ${confidence(claim.confidence)} ${evidence(claim.evidence)}`,
        count(sent),
        count(received),
      ]),
    }),
    table({
      caption: 'Event streams',
      head: ['URL', 'Events'],
      rows: streams.map(({ url, events }) => [code(url), events.map(({ name, count: times }) => `${cut(name, 40)} (${times})`).join(', ')]),
    }),
  ]);
}

const authTones: Readonly<Record<string, Tone>> = { yes: 'warn', no: 'good' };

function endpoint(each: EndpointView): Markup {
  const { id, method, host, path_template: path, operation_name: operation, auth_required: auth, calls } = each;
  return html`<details class="endpoint" id="endpoint-${id}">
    <summary>
      <span class="method ${cut(method, 10).toLowerCase()}">${cut(method, 10)}</span>
      <span class="path"><span class="muted">${cut(host, 80)}</span><code>${cut(path, 200)}</code></span>
      <span class="marks">
        ${operation === null ? nothing : badge(operation)}
        ${auth === 'unknown' ? nothing : badge(auth === 'yes' ? 'needs sign-in' : 'open', authTones[auth])}
        <span class="muted">${id} · ${countText(calls, 'call')}</span>
      </span>
    </summary>
    <div class="body">${endpointBody(each)}</div>
  </details>`;
}

function endpointBody(each: EndpointView): Markup[] {
  const { params, request, responses, pagination, depends_on: dependencies } = each;
  const parameters = (['path', 'query', 'header'] as const).flatMap((place) => params[place].map((parameter) => ({ place, ...parameter })));
  return [
    facets([
      ['Kind', each.kind],
      ['Credential', html`${each.auth_required}: ${cut(each.auth_reason, 200)}`],
      [
        'Pagination',
        pagination
          ? `${pagination.style}${pagination.params.length > 0 ? ` by ${cut(pagination.params.join(', '), 80)}` : ''}`
          : muted('none'),
      ],
      ['Replayable', each.replayable.replace('_', ' ')],
      ['Confidence', html`${confidence(each.confidence)} ${evidence(each.evidence)}`],
    ]),
    table({
      caption: `Parameters of ${each.id}`,
      head: ['Name', 'In', 'Type', 'Required', 'Example'],
      rows: parameters.map(({ name, place, type, format, required, example }) => [
        code(name),
        place,
        format ? `${type} (${cut(format, 30)})` : type,
        yesNo(required),
        codeOrNone(example, ''),
      ]),
    }),
    request ? schema(`Request: ${cut(request.content_type, 80)}`, request.schema) : nothing,
    ...responses.map(({ status_code: status, count: times, content_type: type, schema: reply, latency_p50_ms: latency }) =>
      schema(`Response ${status}, ${times}×, ${cut(type, 80) || 'no body'}, ${duration(latency)}`, reply),
    ),
    dependencies.length === 0
      ? nothing
      : html`<h3 class="small">Takes values from</h3>
          ${list(dependencies.map(({ endpoint_id: from, json_path: path, field }) => html`${code(field, 80)} from ${code(path, 120)} of ${cut(from, 20)}`))}`,
    html`<h3 class="small">Repeat the call</h3>
      <pre tabindex="0"><code>${cut(each.curl, schemaCharsMax)}</code></pre>`,
  ];
}

const schema = (title: string, value: unknown): Markup =>
  html`<h3 class="small">${title}</h3>
    ${value === null || value === undefined ? muted('No schema.') : html`<pre tabindex="0"><code>${cut(JSON.stringify(value, null, 2), schemaCharsMax)}</code></pre>`}`;

export function authSection(auth: InspectAuth): Markup {
  return section('auth', 'Authentication', [
    auth.required_for_page ? html`<p>${badge('sign-in required', 'warn')} The page itself needs a sign-in.</p>` : nothing,
    auth.recommendations.length === 0
      ? nothing
      : html`<ol class="steps">
          ${auth.recommendations.slice(0, 20).map((step) => html`<li>${cut(step, 600)}</li>`)}
        </ol>`,
    html`<div class="cards">${auth.mechanisms.map(mechanism)}</div>`,
    ...auth.login_forms.map(loginForm),
    providers(auth),
    table({
      caption: 'CSRF tokens',
      head: ['Name', 'Sent in', 'Read from'],
      rows: auth.csrf.map(({ name, in: where, source, source_name: from }) => [code(name), where, html`${source} ${codeOrNone(from, '')}`]),
    }),
    table({
      caption: 'Refused without a credential',
      head: ['URL', 'Status', 'Seen in'],
      rows: auth.unauthenticated_probes.map(({ url, status_code: status, evidence: ids }) => [
        code(url),
        badge(String(status), 'warn'),
        evidence(ids),
      ]),
    }),
    auth.logout_urls.length === 0
      ? nothing
      : html`<h3>Sign-out</h3>
          ${list(auth.logout_urls.map((url) => code(url)))}`,
  ]);
}

function mechanism(each: InspectAuth['mechanisms'][number]): Markup {
  const { type, in: where, name, scheme, hosts, storage, jwt, cookie_flags: flags } = each;
  const pairs: [string, Markup | string][] = [
    ['Sent in', where === null ? muted('nothing') : html`${where} ${codeOrNone(name, '')} ${scheme ? badge(scheme) : nothing}`],
    ['Hosts', codeOrNone(hosts.slice(0, 4).join(', '))],
    ['Stored in', storage === 'local' || storage === 'session' ? `${storage}Storage` : storage],
  ];
  if (where === null && scheme !== null) pairs[0] = ['Flow', scheme];
  if (jwt)
    pairs.push([
      'JWT',
      html`${jwt.alg ?? 'unknown algorithm'}, issuer ${codeOrNone(jwt.iss)},
      ${jwt.exp_in_seconds === null ? 'no expiry' : `expires after ${seconds(jwt.exp_in_seconds)}`}; claims
      ${cut(jwt.claim_names.join(', '), 200)}`,
    ]);
  if (flags)
    pairs.push([
      'Cookie',
      `${flags.http_only ? 'HttpOnly' : 'readable by scripts'}, ${flags.secure ? 'Secure' : 'also over HTTP'}, SameSite ${flags.same_site ?? 'not set'}, ${seconds(flags.expires_in)}`,
    ]);
  return html`<article class="card">
    <h3>${cut(type, 40).replaceAll('_', ' ')}</h3>
    ${facets(pairs)}
    <p>${confidence(each.confidence)} ${evidence(each.evidence)}</p>
  </article>`;
}

function loginForm({
  page,
  action,
  method,
  fields,
  submit_selector: submit,
  captcha,
  csrf_field: csrf,
  mfa_hint: mfa,
  over_https: secure,
}: InspectAuth['login_forms'][number]): Markup {
  return html`<h3>Sign-in form</h3>
    ${facets([
      ['Page', code(page)],
      ['Sends', html`${method.toUpperCase()} ${code(action)}`],
      ['Button', codeOrNone(submit)],
      ['CSRF field', codeOrNone(csrf)],
      ['Captcha', captcha ?? muted('none')],
      ['One-time code', yesNo(mfa)],
      ['HTTPS', secure ? badge('yes', 'good') : badge('no', 'bad')],
    ])}
    ${table({
      caption: 'Fields of the form',
      head: ['Name', 'Type', 'Autocomplete', 'Selector'],
      rows: fields.map(({ name, type, autocomplete, selector }) => [codeOrNone(name), type, autocomplete ?? muted('none'), code(selector)]),
    })}`;
}

function providers({ sso, oidc, token_refresh: refreshes }: InspectAuth): Markup {
  return html`${table({
    caption: 'Identity providers',
    head: ['Provider', 'Starts at', 'Selector', 'Client id'],
    rows: sso.map(({ provider, start_url: start, selector, client_id: client }) => [
      provider,
      codeOrNone(start),
      codeOrNone(selector),
      codeOrNone(client),
    ]),
  })}
  ${
    oidc
      ? html`<h3>OpenID Connect and OAuth</h3>
          ${facets([
            ['Issuer', codeOrNone(oidc.issuer, 'unknown')],
            ['Authorization', codeOrNone(oidc.authorization_endpoint, 'unknown')],
            ['Token', codeOrNone(oidc.token_endpoint, 'unknown')],
            ['Scopes', codeOrNone(oidc.scopes_supported.join(' '), 'unknown')],
            ['PKCE', oidc.pkce],
          ])}`
      : nothing
  }
  ${table({
    caption: 'Renewal of tokens',
    head: ['Call', 'Interval', 'Seen in'],
    rows: refreshes.map(({ method, url, interval_s: interval, evidence: ids }) => [
      html`${method} ${code(url)}`,
      interval === null ? muted('once') : seconds(interval),
      evidence(ids),
    ]),
  })}`;
}
