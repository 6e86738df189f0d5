/**
 * A DevTools client that sends commands as fast as its socket takes them, until it is killed.
 *
 *     node bench/peers/flooder.ts WS_URL AUTHORIZATION
 */
import { WebSocket } from 'ws';

const [url = '', authorization = ''] = process.argv.slice(2);
const inFlightBytesMax = 1024 * 1024;
const batch = 500;

const socket = new WebSocket(url, { headers: { authorization }, perMessageDeflate: false });
let id = 0;
let replies = 0;
function send(): void {
  for (let n = 0; n < batch && socket.bufferedAmount < inFlightBytesMax; n += 1)
    socket.send(`{"id":${(id += 1)},"method":"Browser.getVersion"}`);
  if (socket.readyState === socket.OPEN) setImmediate(send);
}
socket.once('open', () => {
  console.log('flooding');
  send();
});
socket.on('message', () => (replies += 1));
socket.once('close', (code, reason) => console.log(`closed ${code} ${reason.toString()} after ${replies} replies`));
