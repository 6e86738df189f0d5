/**
 * Networks of one machine: three workers and the database, each in a network namespace, joined by cables that a test pulls. It needs
 * `unshare --net --mount`, which makes this process the clients' namespace; the kernel removes all of it with the last process.
 *
 *     clients 10.77.3.254 ──┬─ br-clients ──┬── worker 0, 1, 2 (10.77.3.10 …)
 *                                           ├── br-fleet: the workers among themselves (10.77.2.10 …)
 *                           └─ br-database ─┴── the database (10.77.1.1), and the workers (10.77.1.10 …)
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { workersInFleet } from './faults.ts';
import type { Links } from './fleet-process.ts';

const networks = { database: 1, fleet: 2, clients: 3 } as const;
type Network = keyof typeof networks;
const ofWorker = 10;
const ofDatabase = 1;
const ofClients = 254;
/** Nobody has it: what is sent there is lost, without a word to the sender. */
const nowhere = '02:00:00:00:00:99';
/** A connection is tried again after pauses that double while the cable is out. */
const aftermathMs = 15_000;

const address = (network: Network, host: number): string => `10.77.${networks[network]}.${host}`;
export const databaseAddress = address('database', ofDatabase);
export const databaseNetwork = `10.77.${networks.database}.0/24`;
export const within = (name: string): string[] => ['nsenter', `--net=/run/netns/${name}`, '--'];

function run(command: string): void {
  const [program = '', ...words] = command.split(' ');
  execFileSync(program, words, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Everything in /run from now on is in memory, and vanishes with this process and its children. */
export function openNetworks(): void {
  run('mount -t tmpfs -o mode=755 tmpfs /run');
  mkdirSync('/run/tests');
  process.env['TMPDIR'] = '/run/tests';
  run('ip link set lo up');
  for (const network of Object.keys(networks)) run(`ip link add br-${network} up type bridge`);
  for (const network of ['database', 'clients'] as const) run(`ip addr add ${address(network, ofClients)}/24 dev br-${network}`);
  openNamespace('db', { networks: ['database'], host: ofDatabase });
  for (let index = 0; index < workersInFleet; index += 1)
    openNamespace(`w${index}`, { networks: ['database', 'fleet', 'clients'], host: ofWorker + index });
}

function openNamespace(name: string, { networks: joined, host }: { networks: readonly Network[]; host: number }): void {
  run(`ip netns add ${name}`);
  run(`ip -n ${name} link set lo up`);
  for (const network of joined) {
    run(`ip link add ${name}-${network} up master br-${network} type veth peer name ${network} netns ${name}`);
    run(`ip -n ${name} addr add ${address(network, host)}/24 dev ${network}`);
    run(`ip -n ${name} link set ${network} up`);
  }
}

const pull = (name: string, network: Network): void => run(`ip link set ${name}-${network} down`);
const plug = (name: string, network: Network): void => run(`ip link set ${name}-${network} up`);

/** What a namespace sends to a host is lost, and what that sends arrives. Returns the end of it. */
function lose(name: string, network: Network, host: number): () => void {
  run(`ip -n ${name} neigh replace ${address(network, host)} lladdr ${nowhere} nud permanent dev ${network}`);
  return () => run(`ip -n ${name} neigh del ${address(network, host)} dev ${network}`);
}

const cable = (name: string, network: Network): NonNullable<Links['clients']> => ({
  cut: () => Promise.resolve(pull(name, network)),
  restore: () => Promise.resolve(plug(name, network)),
});

/** It would need a module of the kernel that not every host has. */
const delay = (): never => {
  throw new Error('A cable cannot be slow. Plan no such fault.');
};

/** The database's cable: nobody reaches it. */
export const databaseCable = cable('db', 'database');

/** The cables of a worker. `silence`: only what is sent to it from the database, or by it to other workers, is lost. */
export function openCables(index: number, databaseUrl: string): Links {
  const name = `w${index}`;
  const own = ofWorker + index;
  const others = Array.from({ length: workersInFleet }, (_, other) => ofWorker + other).filter((host) => host !== own);
  return {
    databaseUrl,
    environment: {
      BERTH_HOST: address('clients', own),
      BERTH_PORT: '0',
      BERTH_FLEET_LISTEN: `${address('fleet', own)}:8090`,
    },
    within: within(name),
    database: { ...cable(name, 'database'), silence: () => lose('db', 'database', own), delay },
    fleet: {
      ...cable(name, 'fleet'),
      silence: () => {
        const ends = others.map((host) => lose(name, 'fleet', host));
        return () => ends.forEach((end) => end());
      },
    },
    clients: cable(name, 'clients'),
    aftermathMs,
    close: () => Promise.resolve(),
  };
}
