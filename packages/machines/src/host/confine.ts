/**
 * How much a program that handles foreign content may cost this host, from its
 * first instruction on: the shell that becomes the program first moves itself
 * into the machine's control groups and raises its own score, so nothing it
 * starts was ever outside of them.
 */
import { writeFileSync } from 'node:fs';

interface Program {
  program: string;
  args: string[];
}

/**
 * `oom_score_adj`: when the host runs out of memory, the kernel ends browsers
 * first and the service last. Renderers raise their own further, so that a page
 * ends before its browser.
 */
const browserScore = 200;
const serviceScore = -500;

const script = `{ echo ${browserScore} > /proc/self/oom_score_adj; } 2>/dev/null
while [ "$1" != -- ]; do
  echo 0 > "$1/cgroup.procs" || exit 1
  shift
done
shift
exec "$@"`;

/** The program inside these control groups, and ended before the service when memory runs out. */
export const confined = <P extends Program>(command: P, groups: readonly string[] = []): P => ({
  ...command,
  program: '/bin/sh',
  args: ['-c', script, 'machine', ...groups, '--', command.program, ...command.args],
});

/**
 * Protects this process and what it starts from now on, such as the database.
 * Returns false where that is not allowed: it takes CAP_SYS_RESOURCE.
 */
export function protectService(): boolean {
  try {
    writeFileSync('/proc/self/oom_score_adj', String(serviceScore));
    return true;
  } catch {
    return false;
  }
}
