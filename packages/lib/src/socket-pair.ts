/**
 * Two sockets that are connected with each other. Node's HTTP/2 takes a socket of the system as it is; a stream of
 * JavaScript it wraps in one whose assertions end the process when the other side breaks while something is written.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * The first is for HTTP/2. The second reads nothing before it is piped or resumed, so nothing comes before that.
 * @throws the system's error where loopback accepts no connection
 */
export async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer({ pauseOnConnect: true });
  const accepted = Promise.withResolvers<Socket>();
  server.once('error', accepted.reject).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  near.once('error', accepted.reject);
  const connected = once(near, 'connect');
  // Another program that found the port first is not who it is for.
  server.on('connection', (far: Socket) => {
    void connected.then(() => (far.remotePort === near.localPort ? accepted.resolve(far) : far.destroy()));
  });
  try {
    const [far] = await Promise.all([accepted.promise, connected]);
    near.off('error', accepted.reject);
    for (const socket of [near, far]) socket.setNoDelay(true);
    return [near, far];
  } catch (error) {
    near.destroy();
    throw error;
  } finally {
    server.close();
  }
}
