/** What settings mean together: which exclude or require each other, and the files that they name. */
import { join } from 'node:path';
import type { BillingSettings } from '../../accounts/billing/billing.ts';
import type { CaptchaConfig } from '../../sessions/captcha/captcha.ts';
import { ConfigError, type Config } from '../../config.ts';
import { builtinAdHosts, loadAdHosts, parseAllowList, parseDnsServers, loadRegions } from '@berth/egress';
import { assertStrongSecrets, isLoopbackOnly } from './exposure.ts';
import { checkBootstrapKey } from '../../accounts/keys/keys.ts';
import type { LlmConfig } from '../../work/flows/flows.ts';
import type { TlsFilePaths } from '../../http/server/tls.ts';
import type { LoginConfig } from '../../accounts/login/login.ts';
import type { ForwardingConfig } from '../../fleet/forwarding/forwarding.ts';
import type { StorageOptions } from '../../objects/objects.ts';
import { loadPrices } from '../../ops/prices.ts';
import { loadTiers, type Tiers } from '../../accounts/owners/owners.ts';

/** Settings of the machines that browsers run in. */
export const machineSettings = (config: Config) => ({
  wanted: config.runtime,
  dataDir: config.dataDir,
  chromiumPath: config.chromium,
  imagesDir: config.imagesDir ?? join(config.dataDir, 'images'),
  qemuPath: config.qemu,
  memoryMb: config.vmMemoryMb,
  cpus: config.vmCpus,
});

/** null: sign-in is off, or that of the development issuer. @throws ConfigError */
export function loginConfig(config: Config): LoginConfig | null {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcJwksUrl: jwksUrl, oidcOrgClaim: orgClaim, oidcAlgorithms: algorithms } = config;
  if (config.devIdp && issuer !== null)
    throw new ConfigError('BERTH_DEV_IDP and BERTH_OIDC_ISSUER exclude each other. Set only one of them.');
  if (config.devIdp && !isLoopbackOnly(config))
    throw new ConfigError(
      'BERTH_DEV_IDP signs in anyone who can reach it, so it is served on loopback addresses only. ' +
        'Set BERTH_HOST and BERTH_PUBLIC_URL to a loopback address and unset BERTH_TRUSTED_PROXIES.',
    );
  if (issuer === null) return null;
  if (audience === null)
    throw new ConfigError(
      'BERTH_OIDC_ISSUER requires BERTH_OIDC_AUDIENCE: without it, tokens issued for other services would be accepted.',
    );
  return { issuer, audience, jwksUrl, orgClaim, algorithms };
}

/** @throws ConfigError */
export function captchaConfig({
  captchaHttpUrl: url,
  captchaHttpSecret: secret,
  captchaHuman: human,
  captchaTimeoutSeconds,
}: Config): CaptchaConfig {
  if ((url === null) !== (secret === null))
    throw new ConfigError('BERTH_CAPTCHA_HTTP_URL and BERTH_CAPTCHA_HTTP_SECRET require each other. Set both or neither.');
  return { http: url !== null && secret !== null ? { url, secret } : null, human, timeoutMs: captchaTimeoutSeconds * 1000 };
}

/** @throws ConfigError */
export function llmConfig({ llmUrl: url, llmModel: model, llmApiKey: key }: Config): LlmConfig | null {
  if ((url === null) !== (model === null))
    throw new ConfigError('BERTH_LLM_URL and BERTH_LLM_MODEL require each other. Set both or neither.');
  return url !== null && model !== null ? { url, model, key } : null;
}

/** null: files stay on their worker. @throws ConfigError */
export function storageOptions(config: Config): StorageOptions | null {
  const { objectsBucket: bucket, objectsDir: folder, objectsEndpoint: endpoint, objectsRegion: region } = config;
  const { objectsAccessKeyId: accessKeyId, objectsSecretAccessKey: secretAccessKey, objectsCredentialsFile: file } = config;
  if (bucket !== null && folder !== null)
    throw new ConfigError('BERTH_OBJECTS_BUCKET and BERTH_OBJECTS_DIR exclude each other. Set only one of them.');
  if (bucket === null && [endpoint, accessKeyId, secretAccessKey, file].some((value) => value !== null))
    throw new ConfigError('Object storage is configured without a bucket. Set BERTH_OBJECTS_BUCKET, or none of BERTH_OBJECTS_*.');
  if ((accessKeyId === null) !== (secretAccessKey === null))
    throw new ConfigError('BERTH_OBJECTS_ACCESS_KEY_ID and BERTH_OBJECTS_SECRET_ACCESS_KEY require each other. Set both or neither.');
  if (accessKeyId !== null && file !== null)
    throw new ConfigError('BERTH_OBJECTS_ACCESS_KEY_ID and BERTH_OBJECTS_CREDENTIALS_FILE exclude each other. Set only one of them.');
  if (folder !== null) return { kind: 'folder', path: folder };
  if (bucket === null) return null;
  const isPathStyle = config.objectsPathStyle ?? endpoint !== null;
  const credentials = accessKeyId !== null && secretAccessKey !== null ? { accessKeyId, secretAccessKey } : file === null ? null : { file };
  return { kind: 'bucket', bucket, endpoint, region, prefix: config.objectsPrefix ?? '', isPathStyle, credentials };
}

const isBilled = ({ stripeSecretKey, stripeWebhookSecret }: Config): boolean => stripeSecretKey !== null || stripeWebhookSecret !== null;

export function billingSettings(config: Config): BillingSettings {
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripeApiUrl: apiUrl, allowUnsignedWebhooks } = config;
  return {
    stripe: { secretKey, webhookSecret, apiUrl },
    unsignedEvents: isLoopbackOnly(config) || allowUnsignedWebhooks ? 'accept' : 'reject',
    isConfigured: isBilled(config) || apiUrl !== null || allowUnsignedWebhooks,
  };
}

/** The plans. @throws Error for an invalid file */
export const tiersOf = (config: Config): Tiers => loadTiers(config.tiersFile, { billing: isBilled(config) });

/** @throws Error for an invalid file */
export const adHostsOf = ({ adHostsFile }: Config): Set<string> =>
  new Set([...builtinAdHosts, ...(adHostsFile ? loadAdHosts(adHostsFile) : [])]);

/** Files of the port's certificate; null: plain HTTP. @throws ConfigError */
export function tlsFilePaths({ tlsCert: cert, tlsKey: key }: Config): TlsFilePaths | null {
  if ((cert === null) !== (key === null))
    throw new ConfigError('BERTH_TLS_CERT and BERTH_TLS_KEY require each other. Set both or neither.');
  return cert === null || key === null ? null : { cert, key };
}

/** What a start refuses, each in one line: settings that exclude or require each other, and files that cannot be used. */
export function settingsProblems(config: Config): string[] {
  const checks = [
    () => assertStrongSecrets(config),
    () => checkBootstrapKey(config.bootstrapApiKey),
    () => loginConfig(config),
    () => captchaConfig(config),
    () => llmConfig(config),
    () => storageOptions(config),
    () => forwardingConfig(config),
    () => loadPrices(config.pricesFile, tiersOf(config).names),
    () => loadRegions({ file: config.regionsFile, defaultCode: config.region }),
    () => adHostsOf(config),
    () => parseAllowList(config.egressAllow),
    () => parseDnsServers(config.dnsServers),
  ];
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  });
}

/** null: this worker passes no requests to others. @throws ConfigError */
export function forwardingConfig(config: Config): ForwardingConfig | null {
  const { fleetListen, fleetAddress: address, fleetCertFile: cert, fleetKeyFile: key, fleetCaFile: ca, databaseUrl } = config;
  const others = [address, cert, key, ca];
  if (fleetListen === null) {
    if (others.some((value) => value !== null))
      throw new ConfigError(
        'BERTH_FLEET_ADDRESS and the files of BERTH_FLEET_… have no effect without BERTH_FLEET_LISTEN. Set it, or unset them.',
      );
    return null;
  }
  if (databaseUrl === null) throw new ConfigError('BERTH_FLEET_LISTEN requires BERTH_DATABASE_URL: an embedded database has one worker.');
  const listen = toHostAndPort(fleetListen);
  if (address === null && ['0.0.0.0', '::'].includes(listen.host))
    throw new ConfigError('BERTH_FLEET_LISTEN on all addresses requires BERTH_FLEET_ADDRESS, at which other workers reach this one.');
  if (cert === null && key === null && ca === null) return { listen, address, files: null };
  if (cert === null || key === null || ca === null)
    throw new ConfigError('BERTH_FLEET_CERT_FILE, BERTH_FLEET_KEY_FILE and BERTH_FLEET_CA_FILE require each other. Set all or none.');
  return { listen, address, files: { cert, key, ca } };
}

function toHostAndPort(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(':');
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) };
}
