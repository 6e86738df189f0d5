/** The doctor's checks of the service: settings, data directory, database, disk, port. */
import { once } from 'node:events';
import { existsSync, rmdirSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { abortAfter } from '@berth/lib/deadline.ts';
import { billingRisks } from '../accounts/billing/billing.ts';
import type { Config } from '../config.ts';
import { openDataDir } from '../boot/data-dir.ts';
import { attempt, ok, problem, warning, type Finding } from './finding.ts';
import { certificateWarning, diskAdvice } from '../boot/host-faults.ts';
import { exposureWarnings } from '../boot/settings/exposure.ts';
import { BoundPort } from '../http/server/port.ts';
import { TlsFiles } from '../http/server/tls.ts';
import { silentLog } from '@berth/lib/log.ts';
import { probe } from '../objects/objects.ts';
import { openDisk } from '../boot/open-disk.ts';
import { billingSettings, storageOptions, settingsProblems, tlsFilePaths } from '../boot/settings/setting-rules.ts';
import { keyStateOf, profileKeyAdvice, profileKeyFault } from '../boot/settings/sealing-keys.ts';
import { inspectDatabase, type DatabaseState } from '../store/store.ts';

const megabyte = 1024 ** 2;
/** Login tokens and links tolerate a minute. */
const clockDifferenceMsMax = 30_000;
/** Time limit, longer than the service itself waits for its database before it answers. */
const healthMs = 5_000;

/** Checks the service. The findings are in the order in which they are shown. */
export async function checkService(config: Config): Promise<Finding[]> {
  const settings = checkSettings(config);
  // One after the other: the data directory may not exist, and is removed again.
  const folder = await checkDataDir(config);
  return [
    ...settings,
    folder,
    ...(await checkDatabase(config)),
    ...(await checkDisk(config)),
    ...(await checkObjects(config)),
    ...(await checkTls(config)),
    await checkPort(config),
  ];
}

function checkSettings(config: Config): Finding[] {
  const problems = settingsProblems(config).map((text) => problem('settings', text));
  const billing = billingSettings(config);
  const warnings = [...exposureWarnings(config), ...billingRisks(billing)];
  const findings = [...problems, ...warnings.map((text) => warning('settings', text))];
  return findings.length > 0 ? findings : [ok('settings', 'valid, and none contradicts another')];
}

/** Creates the directory as a start does, and removes what was not there before. */
async function checkDataDir({ dataDir }: Config): Promise<Finding> {
  const missing: string[] = [];
  for (let path = dataDir; !existsSync(path); path = dirname(path)) missing.push(path);
  const opened = await attempt('data', () => openDataDir(dataDir));
  for (const path of missing) if (existsSync(path)) rmdirSync(path);
  if ('refused' in opened) return opened.refused;
  return ok('data', missing.length > 0 ? `${dataDir} can be created` : `${dataDir} can be written`);
}

async function checkDatabase(config: Config): Promise<Finding[]> {
  const inspected = await attempt('database', () => inspectDatabase(config));
  if ('refused' in inspected) return [inspected.refused];
  const { state, version, aheadMs } = inspected.value;
  const database = [ok('database', `PostgreSQL ${version}, ${describe(inspected.value)}`), ...checkProfileKey(config, inspected.value)];
  if (state !== 'external' || Math.abs(aheadMs ?? 0) <= clockDifferenceMsMax) return database;
  return [
    ...database,
    warning(
      'database',
      `its clock differs from this host's by ${Math.round((aheadMs ?? 0) / 1000)} s`,
      'What workers and database expire does not agree. Keep both clocks right.',
    ),
  ];
}

/** A database that is stopped does not say whether it has profiles. */
function checkProfileKey({ dataDir }: Config, { state, needsProfileKey }: DatabaseState): Finding[] {
  const key = keyStateOf(dataDir, 'profile-key');
  const isNeeded = needsProfileKey ?? (state === 'stopped' ? null : false);
  if (key === 'valid' || (isNeeded === false && key === 'missing')) return [];
  const fault = profileKeyFault(dataDir, key);
  if (isNeeded === null && key === 'missing')
    return [warning('profile-key', fault, `Where profiles are stored, the service does not start without it. ${profileKeyAdvice}`)];
  return [problem('profile-key', fault, profileKeyAdvice)];
}

function describe({ state, migrations }: DatabaseState): string {
  if (state === 'new') return 'embedded; the first start creates the database';
  if (state === 'stopped') return 'embedded; not running';
  return `${state === 'running' ? 'embedded; running' : 'at BERTH_DATABASE_URL'}, ${migrations} migrations applied`;
}

async function checkDisk(config: Config): Promise<Finding[]> {
  const { dataDir, databaseUrl, diskReserveMb } = config;
  let folder = dataDir;
  while (!existsSync(folder)) folder = dirname(folder);
  const disk = openDisk({ ...config, dataDir: folder }, silentLog, { hasReserve: false });
  await disk.refresh();
  const { level, freeBytes } = disk.state;
  const note = `${Math.floor((freeBytes ?? 0) / megabyte)} MB free`;
  const space = level === 'ok' ? ok('disk', note) : problem('disk', note, diskAdvice(config));
  const reserve = statSync(join(dataDir, 'postgres/reserve'), { throwIfNoEntry: false });
  if (databaseUrl !== null || diskReserveMb === 0 || !existsSync(join(dataDir, 'postgres/cluster'))) return [space];
  return [
    space,
    (reserve?.size ?? 0) >= diskReserveMb * megabyte
      ? ok('reserve', `${diskReserveMb} MB are held for the database`)
      : warning(
          'reserve',
          'no space is held for the database',
          'The disk was full, or the service has not run yet. It is written anew once there is space.',
        ),
  ];
}

/** Checks object storage where it is configured and its settings are valid, which is checked before. */
async function checkObjects(config: Config): Promise<Finding[]> {
  const settings = await attempt('objects', () => storageOptions(config));
  if ('refused' in settings || settings.value === null) return [];
  const place = settings.value;
  const name = place.kind === 'folder' ? place.path : `bucket ${place.bucket}${place.endpoint === null ? '' : ` at ${place.endpoint}`}`;
  const probed = await attempt('objects', () => probe(place));
  if ('value' in probed) return [ok('objects', `${name}: an object was written, read and deleted`)];
  const advice = 'Recordings wait on the disks of their workers. Check the BERTH_OBJECTS_ settings, and what the credentials may do.';
  return [problem('objects', `${name}: ${probed.refused.note || 'no response'}`, advice)];
}

async function checkPort({ host, port, publicUrl, dataDir, tlsCert }: Config): Promise<Finding> {
  const bound = await attempt('port', () => BoundPort.open({ host, port }));
  if ('value' in bound) {
    bound.value.close();
    return ok('port', port === 0 ? `a free one of ${host}` : `${port} of ${host} is free`);
  }
  const url = localUrl(host, port, tlsCert !== null);
  if (!(await isService(url))) return bound.refused;
  return {
    ...ok('port', `${port} of ${host}: the service runs there`),
    next: `Open ${publicUrl ?? url}/dashboard and sign in with the key in ${join(dataDir, 'api-key')}.`,
  };
}

/** The address at which this host reaches the service. */
function localUrl(host: string, port: number, hasTls: boolean): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `${hasTls ? 'https' : 'http'}://${name}:${port}`;
}

/** Whether a Berth answers. Its certificate is of its public name, and not of this address. */
async function isService(url: string): Promise<boolean> {
  try {
    const { request } = url.startsWith('https:') ? await import('node:https') : await import('node:http');
    const asked = request(`${url}/health`, { rejectUnauthorized: false, signal: abortAfter(healthMs) }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const body = JSON.parse(await text(response)) as { checks?: object };
    return typeof body.checks === 'object';
  } catch {
    return false;
  }
}

async function checkTls(config: Config): Promise<Finding[]> {
  const opened = await attempt('tls', async () => {
    const paths = tlsFilePaths(config);
    return paths && (await TlsFiles.open(paths));
  });
  if ('refused' in opened) return [opened.refused];
  if (opened.value === null) return [];
  const { expiresAt } = opened.value;
  const fault = certificateWarning(expiresAt, Date.now());
  return [
    fault === null
      ? ok('tls', `the certificate is valid until ${expiresAt.toISOString().slice(0, 10)}`)
      : warning('tls', `the certificate ${fault}`),
  ];
}
