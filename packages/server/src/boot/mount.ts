/** Mounts the routes of all services. */
import { apiVersion, type InspectResponse } from '@berth/contract';
import { mountAuditAdmin } from '../accounts/audit/admin-routes.ts';
import { mountBillingAdmin } from '../accounts/billing/admin-routes.ts';
import { mountBilling } from '../accounts/billing/routes.ts';
import { dashboardConfig } from './settings/dashboard-config.ts';
import { mountCreditsAdmin } from '../accounts/credits/admin-routes.ts';
import type { ReadBalance } from '../accounts/credits/credits.ts';
import { mountCredits } from '../accounts/credits/routes.ts';
import { exposureWarnings } from './settings/exposure.ts';
import { mountDocs } from '../docs/docs.ts';
import { mountDrive } from '../sessions/drive/routes.ts';
import { mountFetch } from '../work/fetch/routes.ts';
import { mountFlows } from '../work/flows/routes.ts';
import { mountInspect } from '../work/inspect/routes.ts';
import { mountJobs } from '../work/jobs/routes.ts';
import { mountSelfHealAdmin } from '../work/selfheal/admin-routes.ts';
import { mountFleetAdmin } from '../fleet/pool/admin-routes.ts';
import { createHttp, defaultLimits, type Http } from '../http/server/server.ts';
import { mountKeyAdmin, mountSignInLinkAdmin } from '../accounts/keys/admin-routes.ts';
import { mountConnectTokens, mountKeys, mountSignInLinks } from '../accounts/keys/routes.ts';
import type { Loop } from '@berth/lib/loop.ts';
import { mountDevIdp } from '../accounts/login/login.ts';
import { mountMeteringAdmin } from '../accounts/metering/admin-routes.ts';
import { mountMetering } from '../accounts/metering/routes.ts';
import { Mcp, mayCallApi } from '../mcp/mcp.ts';
import { mountMcp } from '../mcp/routes.ts';
import { mountDashboard } from '../ops/dashboard.ts';
import { Economics } from '../ops/economics.ts';
import type { Metrics } from '../ops/metrics.ts';
import { Ops } from '../ops/ops.ts';
import { Overviews } from '../ops/overview.ts';
import { mountMetrics, mountOps, mountOpsAdmin } from '../ops/routes.ts';
import type { StallWatch } from '../ops/stall-watch.ts';
import { adminGuard, metricsGuard } from '../accounts/owners/owners.ts';
import { mountWorkersAdmin } from '../fleet/placement/admin-routes.ts';
import { mountProfiles } from '../sessions/profiles/routes.ts';
import { mountRecordings } from '../watch/recordings/routes.ts';
import { mountRegions } from '../fleet/regions/routes.ts';
import { ConnectAddress } from '../sessions/sessions/connect/connect-address.ts';
import { mountConnect, mountConnectAddress, mountSessionAdmin, mountSessions, mountTunnels } from '../sessions/sessions/routes.ts';
import { keyFaults, missingKeys } from './settings/sealing-keys.ts';
import { mountSkills } from '../work/skills/routes.ts';
import { readSettings } from './settings/settings.ts';
import { mountView } from '../watch/view/routes.ts';
import type { AppDeps, AppServices } from './services.ts';

const adminRequestsPerMinuteMax = 1200;
const nobody = { owner: null, keyId: null, requestsPerMinute: null, scope: 'nobody' };

/** What the routes need beside the services. */
export interface MountDeps {
  deps: AppDeps;
  services: AppServices;
  loops: readonly Loop[];
  metrics: Metrics;
  stalls: StallWatch;
  isDraining: () => boolean;
}

/** Mounts every route. */
export function mountRoutes(mount: MountDeps): Http {
  const { deps, services, metrics, isDraining } = mount;
  const { config, store, clock, log, adminKey } = deps;
  const { disk, keys, logins, regions, fleet, sessions, connects, drive, view, recordings, jobs, selfHeal, fetches } = services;
  const { skills, inspections, reportLinks } = services;
  const { tokens, pages } = view;
  const http = createHttp({
    guards: {
      none: () => nobody,
      bearer: keys.authenticate,
      admin: adminGuard(adminKey),
      connect: connects.authenticate,
      connectPath: connects.authenticatePath,
      agent: connects.authenticate,
      view: tokens.authenticateView,
      vnc: tokens.authenticateVnc,
      recording: tokens.authenticateRecording,
      report: reportLinks.authenticate,
      login: logins.authenticate,
      metrics: metricsGuard({ metricsToken: config.metricsToken, adminKey }),
    },
    errorPage: pages.errorPage,
    checkInner: mayCallApi(connects),
    sessionIdOf: (owner, name) => sessions.idOf(owner, name),
    forwarder: services.forwarding ?? undefined,
    // What comes first after a freeze may be a request, and not the timer that looks at the clock.
    onRequest: () => fleet.lease.check(),
    onCompleted: metrics.observeRequest,
    log,
    store,
    disk,
    claimant: fleet.lease.claimant,
    clock,
    publicUrl: config.publicUrl,
    trustedProxies: config.trustedProxies,
    limits: defaultLimits,
    tls: deps.tls,
    isDraining,
    rates: services.rates,
    authFailuresPerMinuteMax: config.authFailuresPerMinuteMax,
    adminRequestsPerMinuteMax,
  });
  mountSessions(http, sessions);
  mountProfiles(http, services.profiles);
  mountConnect(http, connects);
  mountTunnels(http, services.tunnels);
  mountConnectAddress(http, connects, new ConnectAddress({ sessions, fleet }));
  mountDrive(http, drive);
  mountView(http, view);
  mountRecordings(http, recordings, view);
  mountFetch(http, fetches);
  mountFlows(http, services.flows);
  mountInspect(http, inspections, reportLinks);
  mountJobs(http, jobs, { inspect: (report, reader) => reportLinks.addTo(report as InspectResponse, reader) });
  mountRegions(http, regions);
  mountAccounts(http, mount);
  mountSessionAdmin(http, sessions);
  mountFleetAdmin(http, fleet);
  mountWorkersAdmin(http, services.workers);
  mountSkills(http, skills, clock);
  mountSelfHealAdmin(http, selfHeal, (since) => skills.totals(since));
  mountMetrics(http, metrics);
  mountNumbers(http, mount);
  const ops = new Ops({
    store,
    fleet,
    disk,
    loops: mount.loops,
    stalls: mount.stalls,
    isDraining,
    nowMs: () => clock.now().getTime(),
    missingKeys: () => missingKeys(deps.config),
  });
  mountOps(http, ops);
  mountDashboard(http, pages, dashboardConfig({ config, regions, tiers: services.owners.tiers, hasEncoder: deps.encoders !== null }));
  mountMcp(http, new Mcp({ fetchAs: (call) => http.fetchAs(call), publicUrl: config.publicUrl }));
  mountDocs(http, { readHealth: () => ops.health(), hasSignIn: services.devIssuer !== null });
  return http;
}

function mountNumbers(http: Http, { deps, services, metrics, loops }: MountDeps): void {
  const { config, clock } = deps;
  const { fleet, sessions, jobs, credits, selfHeal, gate, disk, owners, metering, billing, prices } = services;
  const warnings = (): string[] => [...billing.warnings(), ...exposureWarnings(config), ...keyFaults(config)];
  const counted = { fleet, sessions, jobs, metering, selfHeal, gate, disk, metrics: metrics, loops: loops };
  mountOpsAdmin(http, {
    overviews: new Overviews({ version: apiVersion, clock, warnings, ...counted }),
    economics: new Economics({ clock, prices, owners, metering, credits, billing }),
    settings: () => ({ object: 'settings', worker_id: fleet.deps.workerId, settings: readSettings(config) }),
  });
}

function mountAccounts(http: Http, { deps, services }: MountDeps): void {
  const { clock } = deps;
  const { audit, devIssuer, keys, connectTokens, signInLinks, owners, metering, credits, billing, workers } = services;
  mountMetering(http, metering);
  mountMeteringAdmin(http, { owners, metering, checkPin: (workerId) => workers.checkPin(workerId) });
  const readBalance: ReadBalance = (owner, walletBalance) => metering.readBalance(owner, walletBalance);
  mountCredits(http, credits, readBalance);
  mountCreditsAdmin(http, credits, readBalance);
  mountKeys(http, keys, clock);
  mountConnectTokens(http, connectTokens, clock);
  mountSignInLinks(http, { links: signInLinks, keys, clock });
  mountKeyAdmin(http, keys, clock);
  mountSignInLinkAdmin(http, signInLinks);
  mountBilling(http, billing);
  mountBillingAdmin(http, billing);
  mountAuditAdmin(http, audit);
  if (devIssuer) mountDevIdp(http, devIssuer);
}
