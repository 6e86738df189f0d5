/** Examines the client's side: what is configured, whether the service is reached, and whether the key works. */
import { statSync } from 'node:fs';
import type { BerthError, Berth } from '@berth/sdk';
import { configPath } from '../../settings/config-file.ts';
import type { Action, Context } from '../../context.ts';
import { CommandError, describeFailure, exitCodes } from '../../failures.ts';
import { report } from '../../output.ts';

interface Finding {
  check: string;
  status: 'ok' | 'warning' | 'failed';
  message: string;
  hint?: string;
}

/** The oldest Node that the client supports. */
const nodeMin = 20;
/** Tokens with an expiry are wrong on a clock that is off by more. */
const clockSkewMsMax = 30_000;

export const doctor: Action = async (context) => {
  const findings = [checkNode(), checkConfigFile(context), ...(await checkService(context))];
  const next = nextOf(findings);
  const result = report(findings, (rows, paint) =>
    rows
      .map(({ check, status, message, hint }) => {
        const mark = status === 'ok' ? paint.green('ok     ') : status === 'warning' ? paint.yellow('warning') : paint.red('failed ');
        return `${mark} ${check}: ${message}${hint === undefined ? '' : `\n        ${hint}`}`;
      })
      .concat(`\nNext: ${next}`)
      .join('\n'),
  );
  const failed = findings.filter(({ status }) => status === 'failed');
  if (failed.length === 0) return result;
  await context.output.print(result);
  const exitCode = failed.some(({ check }) => check === 'service')
    ? exitCodes.unreachable
    : failed.some(({ check }) => check === 'key')
      ? exitCodes.unauthorized
      : exitCodes.failed;
  throw new CommandError(exitCode, 'doctor_failed', `${failed.length} of ${findings.length} checks failed.`);
};

/** The one thing to do now: a failure before a warning, and each by its hint. */
export function nextOf(findings: readonly Finding[]): string {
  const open = (['failed', 'warning'] as const).flatMap((status) => findings.filter((finding) => finding.status === status));
  const first = open.find(({ hint }) => hint !== undefined);
  return first?.hint ?? 'Open a page: berth open https://example.com/';
}

function checkNode(): Finding {
  const major = Number(process.versions.node.split('.')[0]);
  if (major >= nodeMin) return { check: 'node', status: 'ok', message: process.versions.node };
  return { check: 'node', status: 'failed', message: `${process.versions.node} is too old`, hint: `Install Node ${nodeMin} or newer.` };
}

function checkConfigFile({ env }: Context): Finding {
  const path = configPath(env);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return { check: 'configuration', status: 'ok', message: `no file at ${path}` };
  const isPrivate = process.platform === 'win32' || (stat.mode & 0o077) === 0;
  if (isPrivate) return { check: 'configuration', status: 'ok', message: path };
  return { check: 'configuration', status: 'warning', message: `${path} can be read by others, and has keys`, hint: `chmod 600 ${path}` };
}

async function checkService(context: Context): Promise<Finding[]> {
  const { url, apiKey } = context.access;
  // Whether it lives, a service says to anybody.
  const berth = await context.berthWith(apiKey ?? 'none');
  let response: Response;
  try {
    ({ response } = await berth.live({ signal: context.signal, maxRetries: 0 }).withResponse());
  } catch (error) {
    return [
      {
        check: 'service',
        status: 'failed',
        message: `${url}: ${describeFailure(error).message}`,
        hint: 'Is BERTH_URL right, and the service running? `berth up` starts one from a source tree.',
      },
    ];
  }
  const reached: Finding = { check: 'service', status: 'ok', message: url };
  if (apiKey === undefined)
    return [reached, { check: 'key', status: 'failed', message: 'there is none', hint: 'Run `berth login`, or set BERTH_API_KEY.' }];
  return [reached, checkClock(response), await checkVersion(berth), await checkKey(berth)];
}

function checkClock(response: Response): Finding {
  const skewMs = Math.abs(Date.parse(response.headers.get('date') ?? '') - Date.now());
  if (!(skewMs > clockSkewMsMax)) return { check: 'clock', status: 'ok', message: 'as the service’s' };
  return {
    check: 'clock',
    status: 'warning',
    message: `${Math.round(skewMs / 1000)} s off the service’s`,
    hint: 'Set the clock, for example by NTP.',
  };
}

async function checkVersion(berth: Berth): Promise<Finding> {
  const { version } = await import('../../version.ts');
  const info = ((await berth.openapi()) as { info?: { version?: string } }).info;
  const isSame = info?.version?.split('.')[0] === version.split('.')[0];
  return { check: 'version', status: isSame ? 'ok' : 'warning', message: `service ${info?.version ?? 'unknown'}, command line ${version}` };
}

async function checkKey(berth: Berth): Promise<Finding> {
  try {
    const { tier } = await berth.usage.get();
    return { check: 'key', status: 'ok', message: `accepted, plan ${tier}` };
  } catch (error) {
    return { check: 'key', status: 'failed', message: (error as BerthError).message, hint: 'Run `berth login`, or set BERTH_API_KEY.' };
  }
}
