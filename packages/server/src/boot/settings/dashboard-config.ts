import { apiVersion, type DashboardConfig } from '@berth/contract';
import type { Config } from '../../config.ts';
import type { Tiers } from '../../accounts/owners/owners.ts';
import type { Regions } from '@berth/egress';

interface DashboardDeps {
  config: Config;
  regions: Pick<Regions, 'list'>;
  tiers: Pick<Tiers, 'prices' | 'get'>;
  hasEncoder: boolean;
}

/** What the dashboard shows of the configuration. Everybody can read it: it names no address, path or secret of the operator. */
export const dashboardConfig = ({ config, regions, tiers, hasEncoder }: DashboardDeps): DashboardConfig => ({
  version: apiVersion,
  regions: regions.list(),
  sign_in: { login: config.devIdp || config.oidcIssuer !== null, issuer: config.oidcIssuer, development: config.devIdp },
  features: {
    billing: config.stripeSecretKey !== null,
    credits_enforced: config.creditsEnforced,
    captcha_providers: [...(config.captchaHttpUrl === null ? [] : ['http' as const]), ...(config.captchaHuman ? ['human' as const] : [])],
    recording_video: hasEncoder ? 'hls' : 'frames',
    evaluate: config.allowEvaluate,
    language_model: config.llmUrl !== null,
  },
  plans: config.stripeSecretKey === null ? [] : plansOf(tiers),
  links: { docs: '/docs/guides', reference: '/docs', openapi: '/openapi.json' },
});

/** Plans that have a price. */
function plansOf(tiers: DashboardDeps['tiers']): DashboardConfig['plans'] {
  return [...new Set(tiers.prices.values())].flatMap((name) => {
    const tier = tiers.get(name);
    if (!tier) return [];
    const { concurrency_limit, max_session_seconds, limits } = tier;
    return [{ tier: name, concurrency_limit, max_session_seconds, limits }];
  });
}
