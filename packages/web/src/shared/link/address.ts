/** Returns the session id of a path like `/v1/session/ses_1/live-view`, or an empty string. */
export const sessionIdIn = (path: string): string => /^\/v1\/session\/([^/]+)\//.exec(path)?.[1] ?? '';

/** Returns a WebSocket URL on the host of a page. */
export const socketAddress = ({ protocol, host }: { protocol: string; host: string }, path: string): string =>
  `${protocol === 'https:' ? 'wss:' : 'ws:'}//${host}${path}`;
