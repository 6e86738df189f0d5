import {
  createViewToken,
  createVncToken,
  openLiveView,
  openVnc,
  revokeViewTokens,
  saveLiveViewDownload,
  watchLiveView,
  watchVnc,
} from '@berth/contract';
import type { Http } from '../../http/server/server.ts';
import type { View } from './view.ts';

/** The names contain a hash of the content, so browsers can cache the files for ever. */
const immutableHeaders = { 'cache-control': 'public, max-age=31536000, immutable', 'cross-origin-resource-policy': 'same-origin' };

export function mountView(http: Http, view: View): void {
  const { tokens, pages } = view;
  http.on(createViewToken, ({ principal, params, body, origin }) => tokens.issueViewToken(principal, params.session_id, body, origin));
  http.on(revokeViewTokens, ({ principal, params }) => tokens.revoke(principal, params.session_id).then(() => undefined));
  http.on(createVncToken, ({ principal, params, body, origin }) => tokens.issueVncToken(principal, params.session_id, body, origin));
  http.on(openLiveView, (call) => view.livePage(call));
  http.onSocket(watchLiveView, (call, upgrade) => view.watchLive(call, upgrade));
  http.onFile(saveLiveViewDownload, (call) => view.saveDownload(call));
  http.onFile(openVnc, (call) => view.vncPage(call));
  http.onSocket(watchVnc, (call, upgrade) => view.watchVnc(call, upgrade));
  for (const [name, { contentType, data, encodings }] of pages.files)
    http.asset(`/static/${name}`, { contentType, headers: immutableHeaders, load: () => data, encodings });
}
