/**
 * The agent: the program of a machine that the service talks to. It follows
 * requests, decides nothing, and keeps running when the host disconnects, as the
 * next host may talk to a copy of this machine.
 *
 * It runs as root to start the browser as another user. The browser can reach
 * only its proxy port, which leads to the host's gate.
 */
import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { guestPorts } from '@berth/contract/guest';
import { Egress } from './agent/egress.ts';
import { Identities } from './identity/identity.ts';
import { Kernel } from './identity/kernel.ts';
import { imagePaths, Machine } from './agent/machine.ts';
import { findPort, Port } from './agent/port.ts';
import { serve } from './agent/server.ts';

/** Port of the egress proxy in every machine. */
const proxyPort = 3128;

/** The host buffers the console, so a machine must not flood it. */
const errorsLoggedMax = 50;
const errorLengthMax = 1000;
let errorsLogged = 0;

function logError(error: unknown): void {
  errorsLogged += 1;
  if (errorsLogged <= errorsLoggedMax)
    console.error((error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, errorLengthMax));
}

// An emulator translates compiled code again in each copy of a machine. Without a compiler it has a third less to do
// before the agent's first answer. On real hardware, interpreted code has the same throughput here.
for (const flag of ['--no-opt', '--no-sparkplug', '--no-maglev', '--no-flush-bytecode']) setFlagsFromString(flag);

process.on('uncaughtException', logError).on('unhandledRejection', logError);
// The agent reports an out-of-memory kill, so it is killed last.
writeFileSync('/proc/self/oom_score_adj', '-1000');

const kernel = new Kernel();
const egress = new Egress(proxyPort);
const machine = new Machine({ paths: imagePaths, egress, identities: new Identities(kernel) });
await kernel.ready;
new Port(findPort(guestPorts.egress), (host) => egress.attachHost(host)).listen();
new Port(findPort(guestPorts.control), (host) => serve(host, machine, logError)).listen();
