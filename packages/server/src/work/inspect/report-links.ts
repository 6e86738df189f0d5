/** Links that open the report of one inspection without a key, as long as the key that made it is active. */
import { ServiceError, type InspectArtifact, type InspectResponse } from '@berth/contract';
import type { Call } from '../../http/call.ts';
import { type Credentials, type Principal, ownerOf } from '../../accounts/principals/principals.ts';
import type { Keys } from '../../accounts/keys/keys.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { openToken, sealToken } from '@berth/lib/secrets/sealed-token.ts';
import type { Owners } from '../../accounts/owners/owners.ts';
import { hasArtifact } from './artifacts.ts';
import { artifactPath, reportPath } from './reply.ts';

export interface ReportLinksDeps {
  keys: Pick<Keys, 'authenticate' | 'findInactive'>;
  owners: Pick<Owners, 'tierOf'>;
  clock: Clock;
  secret: Buffer;
}

const purpose = 'report';
/** Lifetime of a link: as long as results of jobs are retained. */
const linkSeconds = 86_400;

export class ReportLinks {
  readonly #deps: ReportLinksDeps;

  constructor(deps: ReportLinksDeps) {
    this.#deps = deps;
  }

  /** The token of a link to the report of this job. */
  issue(principal: Principal, jobId: string): Promise<string> {
    const { secret, clock } = this.#deps;
    const expiresAt = Math.floor(clock.now().getTime() / 1000) + linkSeconds;
    return sealToken(secret, { purpose, owner: ownerOf(principal), session: jobId, keyId: principal.keyId, expiresAt });
  }

  /** The response with links to its report and its parts for this caller. Unchanged without a report. */
  async addTo(response: InspectResponse, { principal, origin }: Pick<Call, 'principal' | 'origin'>): Promise<InspectResponse> {
    if (response.pages.length === 0) return response;
    const token = await this.issue(principal, response.job_id);
    const linkTo = (name: InspectArtifact): string | null =>
      hasArtifact(response, name) ? `${origin}${artifactPath(response.job_id, name)}?token=${token}` : null;
    return {
      ...response,
      report_url: `${origin}${reportPath(response.job_id)}?token=${token}`,
      artifacts: {
        openapi_url: linkTo('openapi.json'),
        client_url: linkTo('client.ts'),
        har_url: linkTo('capture.har'),
        screenshot_url: linkTo('screenshot.jpg'),
      },
    };
  }

  /** Guard of reports: accepts the link of this report, or an API key. */
  authenticate = async (credentials: Credentials): Promise<Principal> => {
    const { token, params } = credentials;
    if (token === undefined && credentials.authorization !== undefined) return this.#deps.keys.authenticate(credentials);
    const claims = token === undefined ? null : await openToken(this.#deps.secret, token, purpose, this.#deps.clock.now());
    if (!claims || claims.session !== params['job_id'] || !(await this.#isActive(claims.keyId))) throw invalidLink();
    const { requests_per_minute: requestsPerMinute } = await this.#deps.owners.tierOf(claims.owner);
    // A share of their own: who has a link cannot use up the owner's requests.
    return { owner: claims.owner, keyId: claims.keyId, requestsPerMinute, scope: `reports:${claims.owner}` };
  };

  async #isActive(keyId: string | null): Promise<boolean> {
    return keyId === null || (await this.#deps.keys.findInactive([keyId])).length === 0;
  }
}

/** One error for every invalid link, so that it does not reveal what is wrong. */
const invalidLink = (): ServiceError =>
  new ServiceError('invalid_view_token', 'This link is not valid or has expired. Inspect the site again.');
