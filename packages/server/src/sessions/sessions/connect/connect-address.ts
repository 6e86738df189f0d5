/** The address that creates a session by connecting: what clients read of it before they connect. */
import { ValidationError, type CdpTargetResponse, type CdpVersionResponse } from '@berth/contract';
import { listDocument, versionDocument, type BrowserVersion } from '@berth/devtools';
import type { Fleet } from '../../../fleet/pool/pool.ts';
import { ownerOf, type Principal } from '../../../accounts/principals/principals.ts';
import { mayDrive, toCdpUrl } from './cdp-connections.ts';
import type { LiveSession } from '../live.ts';
import type { Sessions } from '../sessions.ts';

/** Address that a client asks, and the connect token in its URL; null for credentials in headers. */
interface Requested {
  origin: string;
  token: string | null;
}

/** Version until the first browser of this worker has started: nothing more is certain. */
const unknownVersion: BrowserVersion = { product: 'Chrome', protocolVersion: '1.3', revision: '', userAgent: '', jsVersion: '' };

export class ConnectAddress {
  readonly #sessions: Pick<Sessions, 'held'>;
  readonly #fleet: Pick<Fleet, 'slots'>;

  constructor({ sessions, fleet }: { sessions: Pick<Sessions, 'held'>; fleet: Pick<Fleet, 'slots'> }) {
    this.#sessions = sessions;
    this.#fleet = fleet;
  }

  /** Document of `/json/version`. `target`: the request's, whose options become those of the session. */
  version({ origin, token }: Requested, target: string): CdpVersionResponse {
    const options = optionsOf(target);
    options.delete('token');
    const search = options.size === 0 ? '' : `?${options}`;
    return versionDocument(this.#browserVersion(), withToken(`${origin.replace(/^http/, 'ws')}/v1/connect${search}`, token));
  }

  /** Targets of `/json/list`: the pages of all sessions of this worker that the caller may connect to. */
  targets(principal: Principal, { origin, token }: Requested): CdpTargetResponse[] {
    const owner = ownerOf(principal);
    const isDriven = ({ record, status, ending }: LiveSession): boolean =>
      status === 'ready' && !ending && record.owner === owner && record.settings.purpose !== 'fetch' && mayDrive(principal, record);
    return this.#sessions
      .held()
      .filter(isDriven)
      .flatMap(({ record, machine }) => {
        const url = withToken(toCdpUrl(origin, record.sessionId), token);
        return machine ? listDocument(machine.browser.tabs(), url) : [];
      });
  }

  #browserVersion(): BrowserVersion {
    for (const { machine } of this.#fleet.slots.values()) if (machine) return machine.browser.version;
    return unknownVersion;
  }
}

const optionsOf = (target: string): URLSearchParams => new URLSearchParams(target.slice(`${target}?`.indexOf('?')));

/** The connect token in the URL of a request whose caller it has authenticated. */
export const tokenInUrl = (principal: Principal, target: string): string | null =>
  principal.connectTokenId === undefined ? null : optionsOf(target).get('token');

/** A client that can send nothing but an address needs the token in it. */
export const withToken = (url: string, token: string | null): string =>
  token === null ? url : `${url}${url.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`;

/** Options that only the plan or the region refuses are reported where they were sent. */
export function toQueryError(error: unknown): unknown {
  if (!(error instanceof ValidationError)) return error;
  const detail = error.detail.map(({ loc: [, ...path], ...issue }) => ({ ...issue, loc: ['query', ...path] }));
  return new ValidationError(detail, error.omitted);
}
