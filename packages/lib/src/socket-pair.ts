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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  const connected = once(near, 'connect');
  const accepted = new Promise<Socket>((resolve) => {
    // Another program that found the port first is not who it is for.
    server.on('connection', (far: Socket) => {
      connected.then(() => (far.remotePort === near.localPort ? resolve(far) : far.destroy())).catch(() => far.destroy());
    });
  });
  try {
    await connected;
    const far = await accepted;
    for (const socket of [near, far]) socket.setNoDelay(true);
    return [near, far];
  } catch (error) {
    near.destroy();
    throw error;
  } finally {
    server.close();
  }
}
