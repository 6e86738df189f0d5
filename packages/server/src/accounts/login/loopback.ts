/** Recognises loopback hosts and URLs. */

const loopbackV4 = /^127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}$/;

/** Whether a host is `localhost` or a loopback address in its usual spelling. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || loopbackV4.test(name);
}

/** The host of a `Host` header, without its port. */
export const hostWithoutPort = (authority: string): string => authority.replace(/:\d*$/, '');

/** Whether a text is an http or https URL of a loopback host, without credentials. */
export function isLoopbackUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && isLoopbackHost(url.hostname);
}
