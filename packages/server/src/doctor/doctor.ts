/**
 * `npm run doctor`: what this host can do, what is missing, what that costs and
 * what to do about it. It leaves nothing behind, and may run beside the service.
 */
import { readConfig, ConfigError, type Config } from '../config.ts';
import { withBrowserPrograms } from '../boot/settings/browser-programs.ts';
import { ownCommands } from '../boot/own-commands.ts';
import { checkHost } from './host.ts';
import { checkService } from './service.ts';
import { problem, type Finding } from './finding.ts';

export interface Diagnosis {
  /** The worst of the findings: with a problem the service does not start, or does not work. */
  status: Finding['status'];
  findings: Finding[];
  /** The one thing to do now: what solves the first problem, or what starts or opens the service. */
  next: string;
}

/** Reads the settings; those that are invalid are problems, and everything else is checked with their defaults. */
function readSettings(from: Record<string, string>): { config: Config; findings: Finding[] } {
  const without: Record<string, string> = {};
  const findings: Finding[] = [];
  for (;;) {
    try {
      return { config: withBrowserPrograms(readConfig(undefined, { ...from, ...without })), findings };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const line of error.message.split('\n')) {
        const name = line.split(':', 1)[0] ?? '';
        if (name in without) throw error;
        without[name] = '';
        findings.push(problem('settings', line));
      }
    }
  }
}

/** @param overrides take precedence over the environment */
export async function diagnose(overrides: Record<string, string>): Promise<Diagnosis> {
  const { config, findings } = readSettings(overrides);
  for (const check of [checkHost, checkService]) findings.push(...(await check(config)));
  const status = (['problem', 'warning'] as const).find((each) => findings.some((finding) => finding.status === each)) ?? 'ok';
  return { status, findings, next: nextOf(findings) };
}

/** Problems are solved in the order in which they are shown: a later one may be a consequence. */
export function nextOf(findings: readonly Finding[]): string {
  const first = findings.find((finding) => finding.status === 'problem');
  if (first) return `Solve ${first.check}: ${first.advice ?? first.note}`;
  return findings.findLast(({ next }) => next !== undefined)?.next ?? `Start the service: ${ownCommands.start}`;
}

const statusWidth = 9;
const nameWidth = 14;
const conclusions = {
  ok: 'Nothing is missing.',
  warning: 'The service starts. The warnings say what it lacks.',
  problem: 'The service does not start, or does not work, before the problems are solved.',
};

/** Lines of a diagnosis for people. */
export function toLines({ status, findings, next }: Diagnosis): string[] {
  const indent = ' '.repeat(statusWidth + nameWidth);
  const lines = findings.flatMap(({ check, status: each, note, advice }) => [
    `${each.padEnd(statusWidth)}${check.padEnd(nameWidth)}${note}`,
    ...(advice === undefined ? [] : [`${indent}${advice}`]),
  ]);
  return [...lines, '', conclusions[status], `Next: ${next}`];
}
