/** Who can reach the service by its configuration, and what that requires. */
import { ConfigError, type Config } from '../../config.ts';
import { isLoopbackHost } from '../../accounts/login/login.ts';
import type { Runtime } from '@berth/machines';

const isLoopbackUrl = (url: string | null): boolean => url === null || isLoopbackHost(new URL(url).hostname);

/** Whether, by its configuration, only this host can reach the service. */
export const isLoopbackOnly = ({ host, publicUrl, trustedProxies }: Config): boolean =>
  isLoopbackHost(host) && isLoopbackUrl(publicUrl) && trustedProxies.length === 0;

/** Without a jail, a page that escapes the browser's own sandbox reads the host's files and network. @throws ConfigError */
export function assertIsolated(config: Config, runtime: Pick<Runtime, 'isJailed'>): void {
  if (runtime.isJailed || config.allowUnjailed || isLoopbackOnly(config)) return;
  throw new ConfigError(
    'Browsers would run without a jail, and others can reach this service. Allow the jail (start as root, or allow unprivileged ' +
      'user namespaces, and install bubblewrap), or set BERTH_HOST and BERTH_PUBLIC_URL to a loopback address and unset ' +
      'BERTH_TRUSTED_PROXIES. BERTH_ALLOW_UNJAILED=1 starts the service all the same.',
  );
}

/** Shorter secrets of the operator can be guessed by who can try often enough. */
const secretCharsMin = 32;

const shortSecrets = ({ adminKey, metricsToken }: Config): string[] =>
  Object.entries({ BERTH_ADMIN_KEY: adminKey, BERTH_METRICS_TOKEN: metricsToken }).flatMap(([name, secret]) =>
    secret !== null && secret.length < secretCharsMin ? [name] : [],
  );

/** @throws ConfigError for a short secret where others can reach the service */
export function assertStrongSecrets(config: Config): void {
  const [name] = shortSecrets(config);
  if (name === undefined || isLoopbackOnly(config)) return;
  throw new ConfigError(
    `${name} must have at least ${secretCharsMin} characters, because others can reach this service. Use a longer one, such as the ` +
      'output of `openssl rand -hex 32`, or set BERTH_HOST and BERTH_PUBLIC_URL to a loopback address and unset BERTH_TRUSTED_PROXIES.',
  );
}

/** Shown at the start, too: the service does not start any more once others can reach it. */
export const secretWarnings = (config: Config): string[] =>
  shortSecrets(config).map(
    (name) => `${name} has fewer than ${secretCharsMin} characters. Use a longer one before others can reach this service.`,
  );

/** Settings that are safe only where nobody else reaches the service, or that an operator should not forget. */
export function exposureWarnings(config: Config): string[] {
  return [
    ...secretWarnings(config),
    ...(config.devIdp
      ? ['The development sign-in accepts any name without a password. Unset BERTH_DEV_IDP and set BERTH_OIDC_ISSUER.']
      : []),
    ...(config.allowUnjailed ? ['BERTH_ALLOW_UNJAILED lets the service run where browsers have no jail.'] : []),
    ...(config.publicUrl?.startsWith('http:') && !isLoopbackUrl(config.publicUrl)
      ? [
          'BERTH_PUBLIC_URL is not https: keys and pages can be read on their way. Set BERTH_TLS_CERT and BERTH_TLS_KEY, or put a proxy with TLS in front.',
        ]
      : []),
  ];
}
