/** What is stated about a redacted value. The value itself is nowhere behind `redact`. */
import type { SecretKind } from '@berth/lib/secrets/kinds.ts';

export { secretKinds, type SecretKind } from '@berth/lib/secrets/kinds.ts';

export type SecretPosition =
  | 'request_header'
  | 'request_cookie'
  | 'url_userinfo'
  | 'url_path'
  | 'url_query'
  | 'url_fragment'
  | 'request_body'
  | 'response_header'
  | 'set_cookie'
  | 'response_body'
  | 'websocket_sent'
  | 'websocket_received'
  | 'event_stream'
  | 'page_html'
  | 'local_storage'
  | 'session_storage'
  | 'cookie_jar'
  | 'console'
  | 'probe'
  | 'other';

export interface SecretLocation {
  position: SecretPosition;
  /** Index of the HAR entry, or null where the value was seen outside of requests. */
  entryIndex: number | null;
  /** Name of the header, cookie, parameter, form field, JSON key or storage key; lower case for headers. */
  name: string | null;
}

export interface JwtInfo {
  alg: string | null;
  iss: string | null;
  aud: string[];
  claimNames: string[];
  /** Unix time in seconds. */
  issuedAt: number | null;
  expiresAt: number | null;
}

/** A distinct value that `redact` replaced everywhere. */
export interface Secret {
  /** Such as `{{token_1}}`: stands wherever the value stood, in every encoding. */
  placeholder: string;
  kind: SecretKind;
  /** Characters. */
  length: number;
  jwt: JwtInfo | null;
  /** Where the value stood under a name or in a form that gave it away, in order of appearance; at most `locationsMax`. */
  locations: SecretLocation[];
}

export const locationsMax = 200;

/** What was replaced, counted by where it stood. */
export interface Redactions {
  headers: number;
  bodyKeys: number;
  bodyValues: number;
}

/** Placeholders in a text, such as `{{token_1}}`. */
export const placeholderPattern = /\{\{[a-z_]{1,20}_\d{1,7}\}\}/g;
