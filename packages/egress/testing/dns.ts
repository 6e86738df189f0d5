/** A DNS server on loopback: it answers the names it has, denies names under `none.test`, fails at names under `broken.test`, at the IPv6 addresses alone under `half.test`, and is silent about all others. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { TestContext } from 'node:test';

const types = { A: 1, AAAA: 28 } as const;

export interface DnsServer {
  /** `address:port`. */
  address: string;
  /** Names asked for, each once, in order. */
  asked: Set<string>;
}

/** `records` holds the IPv4 addresses of a name. */
export async function dnsServer(t: TestContext, records: Readonly<Record<string, readonly string[]>>): Promise<DnsServer> {
  const asked = new Set<string>();
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const { name, type, end } = readQuestion(query);
    asked.add(name);
    const addresses = records[name];
    if (addresses) socket.send(reply(query.subarray(0, end), type === types.A ? addresses : []), port, address);
    else if (name.endsWith('none.test')) socket.send(reply(query.subarray(0, end), [], 3), port, address);
    else if (name.endsWith('half.test')) socket.send(reply(query.subarray(0, end), [], type === types.A ? 0 : 2), port, address);
    else if (name.endsWith('broken.test')) socket.send(reply(query.subarray(0, end), [], 2), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, asked };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** The question again, with an A record for each address. */
function reply(question: Buffer, addresses: readonly string[], code = 0): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  // The name is a pointer to the question's.
  const records = addresses.map((address) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]));
  return Buffer.concat([head, ...records]);
}
