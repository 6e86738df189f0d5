import { ServiceError } from '@berth/contract';
import type { Upgrade } from '../../../http/call.ts';

/**
 * Playwright's `connect` speaks a protocol of its own, to a Playwright server. It would wait in vain for an answer to its
 * first message, so it is refused before the handshake; it shows the text.
 * @throws ServiceError bad_request
 */
export function refusePlaywrightServerClients({ request }: Pick<Upgrade, 'request'>): void {
  const isServerClient = ['x-playwright-proxy', 'x-playwright-browser'].some((name) => request.headers[name] !== undefined);
  if (isServerClient)
    throw new ServiceError(
      'bad_request',
      'This address speaks the DevTools protocol, not that of a Playwright server. Use chromium.connectOverCDP(url), not connect(url). ' +
        'In Playwright Test, override the fixture `browser` with it and leave connectOptions out; in Crawlee, connect in a launcher.',
    );
}
