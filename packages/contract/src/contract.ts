/** The API as data. Entry point of this package. */
import * as actions from './actions.ts';
import * as audit from './audit.ts';
import * as billing from './billing.ts';
import * as captcha from './captcha.ts';
import * as connect from './connect.ts';
import * as connectTokens from './connect-tokens.ts';
import * as credits from './credits.ts';
import * as drive from './drive.ts';
import type { Endpoint } from './endpoint.ts';
import * as fetch from './fetch.ts';
import * as jobs from './jobs.ts';
import * as keys from './keys.ts';
import * as ops from './ops.ts';
import * as owners from './owners.ts';
import * as pool from './pool.ts';
import * as recordings from './recordings.ts';
import * as regions from './regions.ts';
import * as selfheal from './selfheal.ts';
import * as sessions from './sessions.ts';
import * as usage from './usage.ts';
import * as view from './view.ts';

export * from './actions.ts';
export * from './audit.ts';
export * from './billing.ts';
export * from './block.ts';
export * from './captcha.ts';
export * from './connect.ts';
export * from './connect-tokens.ts';
export * from './credits.ts';
export * from './drive.ts';
export * from './endpoint.ts';
export * from './errors.ts';
export * from './fetch.ts';
export * from './fields.ts';
export * from './jobs.ts';
export * from './keys.ts';
export { dropNulls } from './nulls.ts';
export { createOpenApiDocument } from './openapi.ts';
export * from './ops.ts';
export * from './owners.ts';
export * from './pool.ts';
export * from './recordings.ts';
export * from './regions.ts';
export * from './selfheal.ts';
export * from './session.ts';
export * from './session-request.ts';
export * from './sessions.ts';
export * from './steps.ts';
export * from './storage-state.ts';
export * from './usage.ts';
export * from './view.ts';

export const apiVersion = '0.1.0';

const isEndpoint = (value: unknown): value is Endpoint => typeof value === 'object' && value !== null && 'auth' in value && 'path' in value;

/** All endpoints, in the order of the documentation. */
export const endpoints: readonly Endpoint[] = [
  sessions,
  drive,
  actions,
  captcha,
  connect,
  connectTokens,
  view,
  recordings,
  fetch,
  jobs,
  regions,
  usage,
  credits,
  keys,
  billing,
  owners,
  audit,
  pool,
  selfheal,
  ops,
].flatMap((file) => Object.values<unknown>({ ...file }).filter(isEndpoint));
