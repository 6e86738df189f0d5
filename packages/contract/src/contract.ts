/** The API as data. Entry point of this package. */
import * as actions from './steps/actions.ts';
import * as agent from './work/agent.ts';
import * as audit from './accounts/audit.ts';
import * as billing from './accounts/billing.ts';
import * as captcha from './sessions/captcha.ts';
import * as computer from './steps/computer.ts';
import * as connect from './sessions/connect.ts';
import * as skills from './work/skills.ts';
import * as connectTokens from './accounts/connect-tokens.ts';
import * as signInLinks from './accounts/sign-in-links.ts';
import * as credits from './accounts/credits.ts';
import * as dashboard from './ops/dashboard.ts';
import * as drive from './sessions/drive.ts';
import * as snapshots from './steps/snapshot.ts';
import * as economics from './ops/economics.ts';
import type { Endpoint } from './endpoint.ts';
import * as fetch from './work/fetch.ts';
import * as inspect from './inspect/inspect.ts';
import * as jobs from './work/jobs.ts';
import * as keys from './accounts/keys.ts';
import * as ops from './ops/ops.ts';
import * as overview from './ops/overview.ts';
import * as owners from './accounts/owners.ts';
import * as pool from './fleet/pool.ts';
import * as profiles from './sessions/profiles.ts';
import * as recordings from './watch/recordings.ts';
import * as regions from './fleet/regions.ts';
import * as selfheal from './work/selfheal.ts';
import * as sessions from './sessions/sessions.ts';
import * as settings from './sessions/settings.ts';
import * as usage from './accounts/usage.ts';
import * as view from './watch/view.ts';
import * as workers from './fleet/workers.ts';

export * from './steps/actions.ts';
export * from './work/agent.ts';
export * from './accounts/audit.ts';
export * from './accounts/billing.ts';
export * from './work/block.ts';
export * from './bounds.ts';
export * from './sessions/captcha.ts';
export * from './steps/computer.ts';
export * from './sessions/connect.ts';
export type { ConnectRequest } from './sessions/create-query.ts';
export * from './accounts/connect-tokens.ts';
export * from './accounts/sign-in-links.ts';
export * from './work/skills.ts';
export * from './accounts/credits.ts';
export * from './ops/dashboard.ts';
export * from './sessions/drive.ts';
export * from './ops/economics.ts';
export * from './endpoint.ts';
export * from './error-details.ts';
export * from './errors.ts';
export * from './work/fetch.ts';
export * from './fields.ts';
export * from './inspect/inspect-api.ts';
export * from './inspect/inspect-auth.ts';
export * from './inspect/inspect-assets.ts';
export * from './inspect/inspect-site.ts';
export * from './inspect/inspect.ts';
export * from './work/jobs.ts';
export * from './accounts/keys.ts';
export { dropNulls } from './openapi/nulls.ts';
export { createOpenApiDocument } from './openapi/openapi.ts';
export * from './ops/ops.ts';
export * from './ops/overview.ts';
export * from './accounts/owners.ts';
export * from './fleet/pool.ts';
export * from './sessions/profiles.ts';
export * from './watch/recordings.ts';
export * from './fleet/regions.ts';
export * from './work/selfheal.ts';
export * from './sessions/session.ts';
export * from './sessions/session-request.ts';
export * from './sessions/sessions.ts';
export * from './sessions/settings.ts';
export * from './steps/snapshot.ts';
export * from './steps/steps.ts';
export * from './sessions/storage-state.ts';
export * from './accounts/usage.ts';
export * from './watch/view.ts';
export * from './fleet/workers.ts';

export const apiVersion = '0.1.0';

const isEndpoint = (value: unknown): value is Endpoint => typeof value === 'object' && value !== null && 'auth' in value && 'path' in value;

/** All endpoints, in the order of the documentation. */
export const endpoints: readonly Endpoint[] = [
  sessions,
  profiles,
  drive,
  snapshots,
  actions,
  computer,
  captcha,
  connect,
  connectTokens,
  signInLinks,
  skills,
  view,
  recordings,
  fetch,
  agent,
  inspect,
  jobs,
  regions,
  usage,
  credits,
  keys,
  billing,
  owners,
  audit,
  overview,
  economics,
  settings,
  pool,
  workers,
  selfheal,
  dashboard,
  ops,
].flatMap((file) => Object.values<unknown>({ ...file }).filter(isEndpoint));
