/** Endpoints of recordings: what a session that was created with `record` leaves to be watched. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { PathId, Timestamp } from './fields.ts';

/** `incomplete`: what there is can be watched, and its end is missing. `failed`: there is nothing to watch. */
export const recordingStatuses = ['recording', 'complete', 'incomplete', 'failed'] as const;
export type RecordingStatus = (typeof recordingStatuses)[number];

/** `hls`: a video. `frames`: single pictures, where no encoder is installed. */
export const recordingVideos = ['hls', 'frames'] as const;
export type RecordingVideo = (typeof recordingVideos)[number];

export const Recording = z
  .object({
    rec_id: z.string(),
    session_id: z.string(),
    status: z.enum(recordingStatuses),
    video: z.enum(recordingVideos).nullable().meta({ description: 'null until there is a picture.' }),
    started_at: Timestamp,
    ended_at: Timestamp.nullable(),
    duration_ms: z.int(),
    size_bytes: z.int(),
    truncated: z.boolean().meta({ description: 'Whether the recording stopped before the session because it had grown to its limit.' }),
    expires_at: Timestamp.nullable().meta({ description: 'When it is deleted; null while the session runs.' }),
    url: z.string().meta({ description: 'The player. Needs a view token of the scope `recording`, or the API key.' }),
    assets: z.array(z.string()).meta({ description: 'Names to be put after the last slash of `url`.' }),
  })
  .meta({ id: 'Recording' });
export type RecordingResponse = z.infer<typeof Recording>;

const sessionParams = z.object({ session_id: PathId });

export const listRecordings = endpoint({
  id: 'listRecordings',
  method: 'GET',
  path: '/v1/session/{session_id}/recordings',
  tag: 'Viewing',
  summary: 'The recordings of a session',
  auth: 'bearer',
  params: sessionParams,
  reply: z.array(Recording),
  status: 200,
  owner: 'session',
  errors: ['session_not_found', 'store_unavailable'],
});

export const readRecordingAsset = endpoint({
  id: 'readRecordingAsset',
  method: 'GET',
  path: '/v1/session/{session_id}/recordings/{rec_id}/{asset_path}',
  tag: 'Viewing',
  summary: 'A file of a recording',
  description:
    '`index.html` plays it. `video.m3u8` and its segments (HLS, fragmented MP4) or `frames.mjpeg` and `frames.ndjson`, `events.ndjson`, `har.json`, `poster.jpg`, `recording.json`. Takes `Range`. Playable while the session runs.',
  auth: 'recording',
  params: z.object({ session_id: PathId, rec_id: PathId, asset_path: PathId }),
  query: z.object({
    token: z.string().max(2048).optional().meta({ description: 'Of the first load; then a cookie of this path takes its place.' }),
  }),
  replyKind: 'bytes',
  replyHeaders: { 'Accept-Ranges': '`bytes`', 'Content-Range': 'With 206: which part this is.' },
  status: 200,
  alsoStatus: [206],
  owner: 'session',
  errors: ['recording_not_found', 'asset_not_found', 'range_not_satisfiable', 'store_unavailable', 'deadline_exceeded'],
  deadlineMs: 300_000,
});
