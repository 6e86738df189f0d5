import { Readable } from 'node:stream';
import { listRecordings, readRecordingAsset, type RecordingResponse } from '@berth/contract';
import type { Call, FileReply, Routes } from '../http/call.ts';
import { ownerOf } from '../sessions/sessions.ts';
import type { View } from '../view/view.ts';
import { playerName, type RecordingTarget, type RecordingView, type Recordings } from './recordings.ts';

type Pages = Pick<View, 'welcome'> & { pages: Pick<View['pages'], 'page'> };
type AssetCall = Call<typeof readRecordingAsset>;

export function mountRecordings(routes: Routes, recordings: Recordings, view: Pages): void {
  routes.on(listRecordings, async (call) => {
    const views = await recordings.list(ownerOf(call.principal), call.params.session_id);
    return views.map((each) => toRecording(each, call.origin));
  });
  routes.onFile(readRecordingAsset, async (call) => {
    const { asset_path: name } = call.params;
    if (name !== playerName) return recordings.open(targetOf(call), name);
    await recordings.get(targetOf(call));
    return playerPage(call, view);
  });
}

const targetOf = ({ principal, params }: AssetCall): RecordingTarget => ({
  owner: ownerOf(principal),
  sessionId: params.session_id,
  recId: params.rec_id,
});

/** The same for all recordings: it reads from its own address which one it is to play. */
function playerPage(call: AssetCall, view: Pages): FileReply {
  view.welcome(call);
  const { html, headers } = view.pages.page('player', call.origin);
  const { 'content-security-policy': policy = '', ...others } = headers;
  for (const [name, value] of Object.entries(others)) call.setHeader(name, value);
  const data = Buffer.from(html);
  return {
    bytes: data.length,
    contentType: 'text/html; charset=utf-8',
    filename: playerName,
    inline: true,
    policy,
    stream: () => Readable.from([data]),
    close: () => Promise.resolve(),
  };
}

const toRecording = ({ record, assets }: RecordingView, origin: string): RecordingResponse => ({
  rec_id: record.recId,
  session_id: record.sessionId,
  status: record.status,
  video: record.video,
  started_at: record.startedAt.toISOString(),
  ended_at: record.endedAt?.toISOString() ?? null,
  duration_ms: record.durationMs,
  size_bytes: record.sizeBytes,
  truncated: record.truncated,
  expires_at: record.expiresAt?.toISOString() ?? null,
  url: `${origin}/v1/session/${record.sessionId}/recordings/${record.recId}/${playerName}`,
  assets,
});
