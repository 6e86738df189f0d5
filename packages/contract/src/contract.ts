/** The API as data. Entry point of this package. */
import * as actions from './actions.ts';
import * as agent from './agent.ts';
import * as audit from './audit.ts';
import * as billing from './billing.ts';
import * as captcha from './captcha.ts';
import * as computer from './computer.ts';
import * as connect from './connect.ts';
import * as skills from './skills.ts';
import * as connectTokens from './connect-tokens.ts';
import * as credits from './credits.ts';
import * as dashboard from './dashboard.ts';
import * as drive from './drive.ts';
import * as snapshots from './snapshot.ts';
import * as economics from './economics.ts';
import type { Endpoint } from './endpoint.ts';
import * as fetch from './fetch.ts';
import * as inspect from './inspect.ts';
import * as jobs from './jobs.ts';
import * as keys from './keys.ts';
import * as ops from './ops.ts';
import * as overview from './overview.ts';
import * as owners from './owners.ts';
import * as pool from './pool.ts';
import * as profiles from './profiles.ts';
import * as recordings from './recordings.ts';
import * as regions from './regions.ts';
import * as selfheal from './selfheal.ts';
import * as sessions from './sessions.ts';
import * as settings from './settings.ts';
import * as usage from './usage.ts';
import * as view from './view.ts';
import * as workers from './workers.ts';

export * from './actions.ts';
export * from './agent.ts';
export * from './audit.ts';
export * from './billing.ts';
export * from './block.ts';
export * from './bounds.ts';
export * from './captcha.ts';
export * from './computer.ts';
export * from './connect.ts';
export type { ConnectRequest } from './create-query.ts';
export * from './connect-tokens.ts';
export * from './skills.ts';
export * from './credits.ts';
export * from './dashboard.ts';
export * from './drive.ts';
export * from './economics.ts';
export * from './endpoint.ts';
export * from './error-details.ts';
export * from './errors.ts';
export * from './fetch.ts';
export * from './fields.ts';
export * from './inspect-api.ts';
export * from './inspect-auth.ts';
export * from './inspect-assets.ts';
export * from './inspect-site.ts';
export * from './inspect.ts';
export * from './jobs.ts';
export * from './keys.ts';
export { dropNulls } from './nulls.ts';
export { createOpenApiDocument } from './openapi.ts';
export * from './ops.ts';
export * from './overview.ts';
export * from './owners.ts';
export * from './pool.ts';
export * from './profiles.ts';
export * from './recordings.ts';
export * from './regions.ts';
export * from './selfheal.ts';
export * from './session.ts';
export * from './session-request.ts';
export * from './sessions.ts';
export * from './settings.ts';
export * from './snapshot.ts';
export * from './steps.ts';
export * from './storage-state.ts';
export * from './usage.ts';
export * from './view.ts';
export * from './workers.ts';

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
