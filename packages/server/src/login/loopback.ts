/** What is this machine itself, and so nobody else's. */

const loopbackV4 = /^127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}$/;

/** Whether a host, as it stands in an address or as one listens on it, is a loopback address or `localhost`. Other spellings of one are not taken. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || loopbackV4.test(name);
}

/** The host of a `Host` header or of an address's authority, without its port. */
export const hostWithoutPort = (authority: string): string => authority.replace(/:\d*$/, '');

/** Whether an address is one of this machine: `http` or `https`, without credentials. */
export function isLoopbackUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && isLoopbackHost(url.hostname);
}
