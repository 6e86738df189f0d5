/** Opens a port of this computer to the browser of one session. */
import type { Action } from '../context.ts';
import { CommandError, exitCodes } from '../failures.ts';
import { toPort } from '../options.ts';
import { report } from '../output.ts';
import { findOrCreate } from '../sessions.ts';
import { TunnelEnd } from '../tunnel/tunnel-end.ts';

export const tunnel: Action = async (context) => {
  const { apiKey, url } = context.access;
  const berth = await context.berth();
  if (apiKey === undefined)
    throw new CommandError(exitCodes.unauthorized, 'no_key', 'A tunnel needs an API key.', 'Run `berth login`, or set BERTH_API_KEY.');
  const port = toPort(context.args[0] ?? '', 'berth tunnel 3000');
  const as = context.options.text('as');
  const browserPort = as === undefined ? port : toPort(as, 'berth tunnel 3000 --as 80');
  const { session } = await findOrCreate(context, berth);
  const { signal, output } = context;
  const onRefused = (message: string): void =>
    output.tell({ event: 'failed', code: 'port_refused', message }, (told) => `Refused: ${told.message}`);
  const end = await TunnelEnd.open({ service: { url, apiKey }, sessionId: session.id, port, browserPort, onRefused, signal });
  const data = { address: `http://localhost:${browserPort}`, port, session_id: session.id };
  await output.print(
    report(data, ({ address }) => `Port ${port} of this computer is ${address} in session ${session.id}. Ctrl+C ends it.`),
  );
  await end.untilClosed();
  return undefined;
};
