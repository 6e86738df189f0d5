import { listRecordings, readRecordingAsset, type RecordingResponse } from '@berth/contract';
import type { Call, Routes } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import type { View } from '../view/view.ts';
import { toRecordingInfo } from './info.ts';
import { playerName, type RecordingTarget, type RecordingView, type Recordings } from './recordings.ts';

type AssetCall = Call<typeof readRecordingAsset>;

export function mountRecordings(routes: Routes, recordings: Recordings, view: Pick<View, 'pageFile' | 'tokens'>): void {
  routes.on(listRecordings, async (call) => {
    const views = await recordings.list(ownerOf(call.principal), call.params.session_id);
    return views.map((each) => toRecordingResponse(each, call.origin));
  });
  routes.onFile(readRecordingAsset, async (call) => {
    const { asset_path: name } = call.params;
    if (name !== playerName) {
      const file = await recordings.open(targetOf(call), name);
      // A playlist's segments are requested without the token.
      await view.tokens.setViewCookie(call);
      return file;
    }
    await recordings.get(targetOf(call));
    // The same page for all recordings: it takes the recording from its own URL.
    return view.pageFile(call, 'player', playerName);
  });
}

const targetOf = ({ principal, params }: AssetCall): RecordingTarget => ({
  owner: ownerOf(principal),
  sessionId: params.session_id,
  recId: params.rec_id,
});

const toRecordingResponse = ({ record, assets }: RecordingView, origin: string): RecordingResponse => ({
  ...toRecordingInfo(record, assets),
  expires_at: record.expiresAt?.toISOString() ?? null,
  url: `${origin}/v1/session/${record.sessionId}/recordings/${record.recId}/${playerName}`,
});
