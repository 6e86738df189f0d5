/**
 * The agent: the one program of a machine that the service speaks to. It is
 * told everything, decides nothing, and goes on when the host has left, for it
 * may be a copy of this machine that the next host speaks to.
 *
 * It runs as root, for it starts the browser as somebody else. What the browser
 * can reach of it is its proxy's port, which leads to the host's gate.
 */
import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { guestPorts } from '@berth/contract/guest';
import { Egress } from './egress.ts';
import { Identities } from './identity.ts';
import { Kernel } from './kernel.ts';
import { imagePlace, Machine } from './machine.ts';
import { findPort, Port } from './port.ts';
import { serve } from './server.ts';

/** The gate's address in every machine. */
const proxyPort = 3128;

/** The console is kept by the host, so it is not for a machine to fill. */
const complaintsMax = 50;
const complaintLengthMax = 1000;
let complaints = 0;

function complain(error: unknown): void {
  complaints += 1;
  if (complaints <= complaintsMax)
    console.error((error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, complaintLengthMax));
}

// An emulator translates compiled code anew in each copy of a machine: without, it has a third less to do before the
// agent's first word. On a processor itself what is interpreted carries as many megabytes a second.
for (const flag of ['--no-opt', '--no-sparkplug', '--no-maglev', '--no-flush-bytecode']) setFlagsFromString(flag);

process.on('uncaughtException', complain).on('unhandledRejection', complain);
// When memory is short, whoever has to tell of it goes last.
writeFileSync('/proc/self/oom_score_adj', '-1000');

const kernel = new Kernel();
const egress = new Egress(proxyPort);
const machine = new Machine({ place: imagePlace, egress, identities: new Identities(kernel) });
await kernel.ready;
new Port(findPort(guestPorts.egress), (host) => egress.meet(host)).listen();
new Port(findPort(guestPorts.control), (host) => serve(host, machine, complain)).listen();
