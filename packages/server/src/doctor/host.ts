/** The doctor's checks of the host: programs, isolation, resources, clock. */
import { existsSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import type { Config } from '../config.ts';
import { attempt, ok, problem, warning, type Finding } from './finding.ts';
import { browserAdvice, clockAdvice, clockFault } from '../boot/host-faults.ts';
import { ownCommands } from '../boot/own-commands.ts';
import { assertIsolated } from '../boot/settings/exposure.ts';
import { canRun } from '@berth/lib/can-run.ts';
import { silentLog } from '@berth/lib/log.ts';
import {
  browserAgeDays,
  browserAgeDaysMax,
  readBrowser,
  decideRuntime,
  requireChromium,
  findImage,
  ImageUnusableError,
  kvmRefusal,
  memoryHere,
  probeCgroups,
  probeIsolation,
  processorsHere,
  programVersion,
  startBrowsers,
  createVideoEncoders,
  createHostReader,
} from '@berth/machines';
import { machineSettings } from '../boot/settings/setting-rules.ts';

const megabyte = 1024 ** 2;
const gigabytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GB`;
/** A session with a page of its own, see docs/microvms.md. */
const sessionBytes = 600 * megabyte;
/** Sockets, pipes and files of a session with a client, a viewer and pages that load. */
const filesOfSession = 64;
const filesOfService = 1024;

/** Checks the host. The findings are in the order in which they are shown. */
export async function checkHost(config: Config): Promise<Finding[]> {
  const machines = await Promise.all([
    checkChromium(config),
    checkEncoder(config),
    checkVirtualMachines(config),
    checkIsolation(config),
    checkCgroups(),
  ]);
  // Not beside the others: their trials have time limits.
  const browsers = await checkBrowsers(config);
  return [
    checkNode(),
    checkHeadlessShell(config),
    ...machines.flat(),
    ...browsers,
    checkMemory(config),
    checkOpenFiles(config),
    checkClock(config),
  ];
}

function checkNode(): Finding {
  const wanted = readWantedNode();
  const note = `${process.version.slice(1)} on Linux ${release()}, ${process.arch}`;
  return wanted === undefined || process.version === `v${wanted}`
    ? ok('node', note)
    : warning('node', `${note}: the service is tested with ${wanted}`, `Start it with ${ownCommands.start}, which uses that version.`);
}

/** The version that the package installs. */
function readWantedNode(): string | undefined {
  const { optionalDependencies } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  return optionalDependencies[`node-${process.platform}-${process.arch}`];
}

async function checkChromium({ chromium, runtime }: Config): Promise<Finding> {
  if (runtime === 'qemu') return ok('chromium', 'that of the machine image');
  const there = await attempt('chromium', () => requireChromium(chromium));
  if ('refused' in there)
    return { ...there.refused, advice: 'No session starts without it: install Chromium or Google Chrome, or set BERTH_CHROMIUM.' };
  const browser = await readBrowser(chromium);
  if (browser === null) return problem('chromium', `${chromium} does not run`, 'No session starts without it: install its package again.');
  const days = browserAgeDays(browser, Date.now());
  const note = `${browser.version} (${chromium})`;
  return days > browserAgeDaysMax ? warning('chromium', `${note}, ${days} days old`, browserAdvice) : ok('chromium', note);
}

function checkHeadlessShell({ fetchChromium }: Config): Finding {
  return canRun(fetchChromium)
    ? ok('fetches', `with ${fetchChromium}`)
    : warning(
        'fetches',
        `no executable headless shell at ${fetchChromium}`,
        'Fetches use the whole browser, which takes three times the work: apt-get install chromium-headless-shell',
      );
}

async function checkEncoder({ ffmpeg: ffmpegPath }: Config): Promise<Finding[]> {
  const encoders = await createVideoEncoders({ log: silentLog, ffmpegPath });
  if (encoders === null)
    return [
      warning(
        'recordings',
        `no ffmpeg that works at ${ffmpegPath}`,
        'Recordings hold single frames instead of video: apt-get install ffmpeg',
      ),
    ];
  return [ok('recordings', `as video, with ${ffmpegPath}`), ...encoders.warnings.map((text) => warning('recordings', text))];
}

/** QEMU, the image, KVM, and what a start would choose. */
async function checkVirtualMachines(config: Config): Promise<Finding[]> {
  const { runtime, qemu } = config;
  const machines = machineSettings(config);
  const lacking = (check: string, note: string, advice: string): Finding =>
    runtime === 'qemu' ? problem(check, note, advice) : warning(check, note, advice);
  const isolated = 'Sessions are isolated by a jail instead of a virtual machine.';
  const version = canRun(qemu) ? await programVersion(qemu) : null;
  const image = await findImage(machines.imagesDir).catch((error: unknown) => {
    if (error instanceof ImageUnusableError) return error;
    throw error;
  });
  const closed = await kvmRefusal();
  const decision = await attempt('machines', () => decideRuntime(machines));
  if (runtime === 'process') return [ok('machines', 'processes in jails (BERTH_RUNTIME=process)')];
  return [
    version === null
      ? lacking('qemu', `no executable QEMU at ${qemu}`, `${isolated} apt-get install qemu-system-x86`)
      : ok('qemu', version),
    image instanceof Error ? lacking('images', image.message, isolated) : ok('images', `${image.id}, Chromium ${image.chromiumVersion}`),
    closed === null
      ? ok('kvm', 'can be opened')
      : warning('kvm', closed, runtime === 'qemu' ? 'Virtual machines are emulated, some thirty times slower.' : isolated),
    'refused' in decision ? decision.refused : ok('machines', describe(decision.value)),
  ];
}

function describe(decision: Awaited<ReturnType<typeof decideRuntime>>): string {
  if (decision.runtime === 'process') return 'processes in jails';
  return decision.accelerator === 'kvm' ? 'virtual machines with KVM' : 'virtual machines, emulated';
}

async function checkIsolation(config: Config): Promise<Finding[]> {
  if (config.runtime === 'qemu') return [];
  const { jail, warnings, refusal } = await probeIsolation(config.chromium);
  const exposed = await attempt('isolation', () => assertIsolated(config, { isJailed: jail }));
  return [
    ...(jail ? [ok('isolation', 'each browser gets a jail: namespaces, a read-only system and no network')] : []),
    ...('refused' in exposed ? [exposed.refused] : []),
    ...warnings.map((text) => (text === refusal ? problem('isolation', text) : warning('isolation', text))),
  ];
}

/** A jail can be built where Chromium still refuses to start in it. */
async function checkBrowsers({ runtime, chromium, fetchChromium }: Config): Promise<Finding[]> {
  if (runtime === 'qemu' || !canRun(chromium)) return [];
  const shellPath = canRun(fetchChromium) ? fetchChromium : undefined;
  const started = await attempt('browsers', () => startBrowsers({ chromiumPath: chromium, shellPath }));
  if ('refused' in started) return [started.refused];
  const failed = [...started.value].filter(([, why]) => why !== null);
  if (failed.length === 0) return [ok('browsers', `start: ${[...started.value.keys()].join(', ')}`)];
  const advice = 'Sessions of this kind are answered with no_capacity until it does.';
  return failed.map(([kind, why]) => problem('browsers', `${kind} does not start: ${why}`, advice));
}

async function checkCgroups(): Promise<Finding> {
  const { version, missing } = await probeCgroups();
  if (missing.length === 0 && version === 2) return ok('cgroups', 'version 2: memory, processor and processes of each browser are limited');
  if (missing.length === 0)
    return warning(
      'cgroups',
      'version 1: a browser over its memory loses its largest page and is not ended',
      'Boot with systemd.unified_cgroup_hierarchy=1.',
    );
  return warning(
    'cgroups',
    `browsers are not limited in ${missing.join(', ')}: this process may not create control groups for them`,
    'One page can take all of the host. Run the service in a control group of its own, such as a systemd unit with Delegate=yes.',
  );
}

function checkMemory({ memoryFreeMbMin, maxSessions }: Config): Finding {
  const available = createHostReader()().memoryAvailableBytes;
  if (available === null)
    return warning('memory', 'the kernel does not report it', 'The service cannot refuse sessions before memory runs out.');
  const sessions = Math.max(0, Math.floor((available - memoryFreeMbMin * megabyte) / sessionBytes));
  const note = `${gigabytes(available)} available of ${gigabytes(memoryHere())}, ${processorsHere()} processors: about ${sessions} sessions`;
  if (available < memoryFreeMbMin * megabyte)
    return problem('memory', note, `No browser starts below ${memoryFreeMbMin} MB (BERTH_MEMORY_FREE_MB_MIN). Free memory, or add some.`);
  return sessions >= Math.min(2, maxSessions) ? ok('memory', note) : warning('memory', note, 'More sessions are refused. Add memory.');
}

function checkOpenFiles({ maxSessions }: Config): Finding {
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 'unlimited';
  const wanted = filesOfService + filesOfSession * maxSessions;
  if (limit === 'unlimited' || Number(limit) >= wanted) return ok('open files', `limit ${limit}`);
  return warning(
    'open files',
    `limit ${limit}, and ${maxSessions} sessions (BERTH_MAX_SESSIONS) need about ${wanted}`,
    'Connections fail above it. Raise it: ulimit -Hn, or LimitNOFILE= of the systemd unit.',
  );
}

/** A host without systemd, such as a container, gets its time from outside. */
function checkClock({ dataDir }: Config): Finding {
  const fault = clockFault(dataDir);
  if (fault !== null) return problem('clock', fault, clockAdvice);
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  if (!existsSync('/run/systemd/system')) return ok('clock', `${now}; time synchronisation cannot be checked here`);
  const keepers = ['/run/systemd/timesync/synchronized', '/run/chrony', '/run/ntpd.pid', '/run/ntpsec'];
  if (keepers.some((path) => existsSync(path))) return ok('clock', `${now}, kept right by a time service`);
  return warning(
    'clock',
    `${now}: no time service keeps it right`,
    'Login tokens and links fail when it drifts: apt-get install systemd-timesyncd',
  );
}
