/** The DevTools baseline: one WebSocket in front of the pipe of a browser, which is started here with the arguments of this process. */
import { spawn } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';

const [, , command = '', ...args] = process.argv;
const browser = spawn(command, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const [, , , toBrowser, fromBrowser] = browser.stdio as [null, null, null, Duplex, Duplex];
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, skipUTF8Validation: true });
server.on('listening', () => console.log(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`));
server.on('connection', (socket) => {
  let held: Buffer[] = [];
  socket.on('message', (message: Buffer) => toBrowser.write(Buffer.concat([message, Buffer.of(0)])));
  fromBrowser.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      socket.send(Buffer.concat([...held, chunk.subarray(start, end)]), { binary: false });
      held = [];
      start = end + 1;
    }
    if (start < chunk.length) held.push(chunk.subarray(start));
  });
});
browser.once('exit', () => process.exit());
process.once('SIGTERM', () => browser.kill('SIGKILL'));
