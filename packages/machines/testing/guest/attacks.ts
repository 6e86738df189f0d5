/**
 * A compromised machine. Runs as a separate process with the ports at
 * descriptors 3 and 4, as QEMU has them: `node FILE ATTACK`.
 */
import { connect } from 'node:http2';
import { Socket } from 'node:net';

const frameTypes = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  leave: 7,
  window: 8,
  continuation: 9,
  unknown: 200,
} as const;
type FrameType = keyof typeof frameTypes;

const endStream = 1;
const acknowledgement = 1;
const endHeaders = 4;

function frame(
  type: FrameType,
  { stream = 0, flags = 0, payload = Buffer.alloc(0) }: { stream?: number; flags?: number; payload?: Buffer } = {},
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(frameTypes[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const times = (count: number, one: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => one));
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0x40]), ...[name, value].map((text) => Buffer.concat([lengthOf(text), Buffer.from(text)]))]);

/** Length of a text, encoded as in HPACK. */
function lengthOf({ length }: string): Buffer {
  if (length < 127) return Buffer.from([length]);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

const status200 = Buffer.from([0x88]);
const answer = (stream: number): Buffer => frame('headers', { stream, flags: endHeaders, payload: status200 });
const settings = (id: number, value: number): Buffer =>
  frame('settings', { payload: Buffer.concat([Buffer.from([0, id]), number(value)]) });
const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame('settings')]);
const connectHeaders = Buffer.concat([literal(':method', 'CONNECT'), literal(':authority', 'berth.egress')]);
const getHeaders = Buffer.concat([Buffer.from([0x82, 0x84, 0x86]), literal(':authority', 'berth.egress')]);
const opening = (stream: number): Buffer => frame('headers', { stream, flags: endHeaders, payload: connectHeaders });

/** Sends the same without end, as fast as it is read. */
function flood(port: Socket, words: Buffer): void {
  const say = (): boolean => port.destroyed || (port.write(words) && (setImmediate(say), true));
  port.on('drain', say);
  say();
}

/** Answers pings like a correct agent, and calls back with the stream of each request. */
function onRequest(port: Socket, handle: (stream: number) => void): void {
  let unread = Buffer.alloc(0);
  let start = 24;
  port.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    for (; unread.length >= start + 9;) {
      const end = start + 9 + unread.readUIntBE(start, 3);
      if (unread.length < end) return;
      const type = unread.readUInt8(start + 3);
      if (type === frameTypes.ping) port.write(frame('ping', { flags: acknowledgement, payload: unread.subarray(start + 9, end) }));
      if (type === frameTypes.headers) handle(unread.readUInt32BE(start + 5));
      unread = unread.subarray(end);
      start = 0;
    }
  });
}

const drip = (port: Socket, words: Buffer): void => {
  let at = 0;
  const timer = setInterval(() => port.write(words.subarray(at % words.length, (at++ % words.length) + 1)), 20);
  port.on('close', () => clearInterval(timer));
};

/** Read together with a single byte, whose slice would keep it alive. */
const junk = times(4000, frame('window', { payload: number(1) }));

/** Attacks by name, started once the service is connected. */
export const attacks: Record<string, (control: Socket, egress: Socket) => void> = {
  'says nothing at all': () => {},
  'hangs up': (control) => void control.end(),
  'says what is not HTTP/2': (control) => void control.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'.repeat(100)),
  'says random bytes without end': (control) =>
    flood(control, Buffer.from(Array.from({ length: 65_536 }, (_, at) => (at * 7919 + 13) % 251))),
  'says its first frame byte by byte': (control) => drip(control, frame('settings', { payload: Buffer.alloc(6 * 2000) })),
  'announces a frame of 16 MB': (control) =>
    void control.write(Buffer.concat([frame('settings'), Buffer.from([255, 255, 255, 0, 0, 0, 0, 0, 1])])),
  'floods with settings': (control) => flood(control, times(5000, frame('settings'))),
  'floods with settings in small doses': (control) => flood(control, times(500, settings(3, 100))),
  'floods with pings': (control) =>
    flood(control, Buffer.concat([frame('settings'), times(5000, frame('ping', { payload: Buffer.alloc(8) }))])),
  leaves: (control) => void control.write(Buffer.concat([frame('settings'), frame('leave', { payload: Buffer.alloc(8) })])),
  'leaves with an error and goes on': (control) => {
    control.write(frame('settings'));
    flood(control, frame('leave', { payload: Buffer.concat([number(0), number(11), Buffer.alloc(8000)]) }));
  },
  'answers before it is asked': (control) => void control.write(Buffer.concat([frame('settings'), answer(7)])),
  'pushes what nobody asked for': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) =>
      control.write(frame('push', { stream, flags: endHeaders, payload: Buffer.concat([number(2), status200]) })),
    );
  },
  'answers with heads without end': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(frame('headers', { stream, payload: status200 }));
      flood(control, times(4, frame('continuation', { stream, payload: Buffer.alloc(16_000) })));
    });
  },
  'answers with heads before the answer': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) =>
      flood(control, times(50, frame('headers', { stream, flags: endHeaders, payload: literal(':status', '103') }))),
    );
  },
  'answers with a megabyte of headers': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      const value = literal('x-long', 'x'.repeat(15_000));
      control.write(frame('headers', { stream, payload: Buffer.concat([status200, value]) }));
      for (let sent = 0; sent < 70; sent += 1)
        control.write(frame('continuation', { stream, flags: sent === 69 ? endHeaders : 0, payload: value }));
    });
  },
  'answers with headers that unpack to gigabytes': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      const bomb = Buffer.concat([status200, literal('x', 'x'.repeat(3900)), Buffer.alloc(12_000, 0xbe)]);
      flood(control, frame('headers', { stream, flags: endHeaders, payload: bomb }));
    });
  },
  'answers without end': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(answer(stream));
      flood(control, times(4, frame('data', { stream, payload: Buffer.alloc(16_000, '[') })));
    });
  },
  'answers byte by byte': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(answer(stream));
      const timer = setInterval(() => control.write(frame('data', { stream, payload: Buffer.from(' ') })), 20);
      control.on('close', () => clearInterval(timer));
    });
  },
  'answers with nothing, again and again': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(answer(stream));
      flood(control, times(1000, frame('data', { stream })));
    });
  },
  'sends more than its window': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(answer(stream));
      flood(control, times(16, frame('data', { stream, payload: Buffer.alloc(16_000) })));
    });
  },
  'opens its window too far': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => flood(control, frame('window', { stream, payload: number(2 ** 31 - 1) })));
  },
  'takes its window away': (control) => {
    control.write(settings(4, 0));
    onRequest(control, (stream) => control.write(answer(stream)));
  },
  'stops reading': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(answer(stream));
      control.pause();
    });
  },
  'leaves unread what is said to the browser': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => control.write(answer(stream)));
  },
  'says byte after byte to somebody who does not listen': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(answer(stream));
      flood(control, times(1000, frame('data', { stream, payload: Buffer.from('x') })));
    });
  },
  'says byte after byte to somebody who listens': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(answer(stream));
      flood(control, times(1000, frame('data', { stream, payload: Buffer.from('x') })));
    });
  },
  'keeps reads alive by single bytes': (control) => {
    control.write(frame('settings'));
    onRequest(control, (stream) => {
      control.write(answer(stream));
      flood(control, Buffer.concat([frame('data', { stream, payload: Buffer.from('x') }), junk]));
    });
  },
  'says what means nothing': (control) => {
    control.write(frame('settings'));
    onRequest(control, () => flood(control, times(100, frame('unknown', { payload: Buffer.alloc(8000) }))));
  },
  'egress: says what is not HTTP/2': (_control, egress) => void egress.write('GET / HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n'.repeat(50)),
  'egress: asks otherwise than by CONNECT': (_control, egress) =>
    void egress.write(Buffer.concat([preface, frame('headers', { stream: 1, flags: endHeaders | endStream, payload: getHeaders })])),
  'egress: asks for another gate': (_control, egress) => {
    const payload = Buffer.concat([literal(':method', 'CONNECT'), literal(':authority', '169.254.169.254:80')]);
    egress.write(Buffer.concat([preface, frame('headers', { stream: 1, flags: endHeaders, payload })]));
  },
  'egress: opens and resets': (_control, egress) => {
    egress.write(preface);
    let stream = -1;
    const burst = (): Buffer => Buffer.concat([opening((stream += 2)), frame('reset', { stream, payload: number(8) })]);
    const say = (): void => {
      if (!egress.destroyed) egress.write(Buffer.concat(Array.from({ length: 500 }, burst)), () => setImmediate(say));
    };
    say();
  },
  'egress: opens one after the other, as fast as they are dropped': (_control, egress) => {
    const session = connect('http://berth.egress', { createConnection: () => egress }).on('error', () => {});
    const open = (): void => {
      if (session.destroyed) return;
      session
        .request({ ':method': 'CONNECT', ':authority': 'berth.egress' })
        .on('error', () => {})
        .once('close', open)
        .resume();
    };
    for (let at = 0; at < 200; at += 1) open();
  },
  'egress: opens more than it may': (_control, egress) => {
    egress.write(preface);
    for (let stream = 1; stream < 20_000; stream += 2) egress.write(opening(stream));
  },
  'egress: sends a head again and again': (_control, egress) => {
    egress.write(Buffer.concat([preface, opening(1)]));
    flood(egress, times(100, opening(1)));
  },
  'egress: sends heads without end': (_control, egress) => {
    egress.write(Buffer.concat([preface, frame('headers', { stream: 1, payload: connectHeaders })]));
    flood(egress, times(4, frame('continuation', { stream: 1, payload: Buffer.alloc(16_000) })));
  },
  'egress: floods with pings': (_control, egress) =>
    flood(egress, Buffer.concat([preface, times(5000, frame('ping', { payload: Buffer.alloc(8) }))])),
  'egress: keeps reads alive by single bytes': (_control, egress) => {
    egress.write(preface);
    const streams = Array.from({ length: 100 }, (_, at) => at * 2 + 1);
    egress.write(Buffer.concat(streams.map(opening)));
    flood(
      egress,
      Buffer.concat(streams.flatMap((stream) => [frame('data', { stream, payload: Buffer.from('x') }), junk.subarray(0, 13 * 200)])),
    );
  },
};

if (process.argv[1] === import.meta.filename) {
  const [control, egress] = [3, 4].map((fd) => new Socket({ fd, readable: true, writable: true }).on('error', () => {}));
  const attack = attacks[process.argv[2] ?? ''];
  if (!control || !egress || !attack) throw new Error('no such attack');
  control.on('close', () => process.exit());
  egress.on('close', () => process.exit());
  control.resume();
  egress.resume();
  process.stdout.write('ready');
  attack(control, egress);
}
