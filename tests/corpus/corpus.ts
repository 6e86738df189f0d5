/** Complete HTTP exchanges with sites that block, and look-alikes that do not. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { akamai } from './akamai.ts';
import { captchas } from './captchas.ts';
import { cloudflare } from './cloudflare.ts';
import { datadomeAndHuman } from './datadome-human.ts';
import type { Exchange } from './exchange.ts';
import { generic } from './generic.ts';
import { impervaAndAws } from './imperva-aws.ts';
import { otherVendors } from './other-vendors.ts';

export type { Exchange, Expected } from './exchange.ts';

export const exchanges: Exchange[] = [
  ...cloudflare,
  ...akamai,
  ...datadomeAndHuman,
  ...impervaAndAws,
  ...otherVendors,
  ...captchas,
  ...generic,
];

export interface Served {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** @throws RangeError for a name that is not in the corpus. */
  urlOf(name: string): string;
  close(): Promise<void>;
}

/** Serves every exchange under its own path, to any method, byte for byte. */
export async function serve(): Promise<Served> {
  const byPath = new Map(exchanges.map((exchange) => [exchange.path, exchange]));
  const server = createServer((request, response) => {
    const exchange = byPath.get((request.url ?? '').split('?', 1)[0] ?? '');
    if (!exchange) return void response.writeHead(418).end();
    response.sendDate = false;
    response.writeHead(exchange.status, headersOf(exchange)).end(exchange.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    urlOf: (name) => url + named(name).path,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const headersOf = ({ headers }: Exchange): Record<string, string | string[]> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]));

function named(name: string): Exchange {
  const exchange = exchanges.find((candidate) => candidate.name === name);
  if (!exchange) throw new RangeError(`no exchange is named ${name}`);
  return exchange;
}
