/** The session's id in a path such as `/v1/session/ses_1/live-view`; empty where there is none. */
export const sessionIdIn = (path: string): string => /^\/v1\/session\/([^/]+)\//.exec(path)?.[1] ?? '';

/** The address of a socket on the host that a page came from. */
export const socketAddress = ({ protocol, host }: { protocol: string; host: string }, path: string): string =>
  `${protocol === 'https:' ? 'wss:' : 'ws:'}//${host}${path}`;
