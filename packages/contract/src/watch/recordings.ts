/** Endpoints of recordings of sessions that were created with `record`. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp, sessionParams } from '../fields.ts';

/** `incomplete`: playable, but the end is missing. `failed`: nothing to play. */
export const recordingStatuses = ['recording', 'complete', 'incomplete', 'failed'] as const;
export type RecordingStatus = (typeof recordingStatuses)[number];

/** `hls`: a video. `frames`: single images, if no encoder is installed. */
export const recordingVideos = ['hls', 'frames'] as const;
export type RecordingVideo = (typeof recordingVideos)[number];

export const Recording = z
  .object({
    rec_id: z.string().describe('Id of the recording.'),
    session_id: z.string().describe('Id of the recorded session.'),
    status: z
      .enum(recordingStatuses)
      .describe('Status of the recording. `incomplete`: playable, but the end is missing. `failed`: nothing to play.'),
    video: z
      .enum(recordingVideos)
      .nullable()
      .describe('Format of the video: `hls`, or `frames` (single images) if no encoder is installed; null before the first frame.'),
    started_at: Timestamp.describe('When the recording started (RFC 3339, UTC).'),
    ended_at: Timestamp.nullable().describe('When the recording ended (RFC 3339, UTC); null while it is running.'),
    duration_ms: z.int().describe('Duration in milliseconds.'),
    size_bytes: z.int().describe('Size of all files in bytes.'),
    truncated: z.boolean().describe('Whether the recording stopped before the session because it reached its maximum size.'),
    expires_at: Timestamp.nullable().describe('When the recording is deleted (RFC 3339, UTC); null while the session is live.'),
    url: z.string().describe('URL of the player. It requires a view token of the scope `recording`, or your API key.'),
    assets: z.array(z.string()).describe('Names of the files. Append one to the directory of `url` to download it.'),
  })
  .meta({ id: 'RecordingResponse' });
export type RecordingResponse = z.infer<typeof Recording>;

export const listRecordings = endpoint({
  id: 'listRecordings',
  method: 'GET',
  path: '/v1/session/{session_id}/recordings',
  tag: 'Viewing',
  summary: 'List recordings',
  description:
    'Returns the recordings of a session, which exist if it was created with `record: true`. They remain available ' +
    'after the session has ended, until `expires_at`.',
  auth: 'bearer',
  params: sessionParams,
  reply: z.array(Recording),
  status: 200,
  errors: ['session_not_found', 'store_unavailable'],
});

export const readRecordingAsset = endpoint({
  id: 'readRecordingAsset',
  method: 'GET',
  path: '/v1/session/{session_id}/recordings/{rec_id}/{asset_path}',
  tag: 'Viewing',
  summary: 'Get a recording file',
  description:
    'Returns a file of a recording; supports `Range` requests, and works while the session is running. ' +
    '`index.html` is the player, `video.mp4` the whole video. The other files are `video.m3u8` with its segments (HLS, fragmented MP4) or ' +
    '`frames.mjpeg` and `frames.ndjson`, and `events.ndjson`, `har.json`, `poster.jpg` and `recording.json`.',
  auth: 'recording',
  params: sessionParams.extend({
    rec_id: PathId.describe('Id of the recording.'),
    asset_path: PathId.describe('Name of the file, such as `index.html`.'),
  }),
  isPathOpen: true,
  // What mail and chat programs add to links is ignored.
  query: z.object({
    token: boundedString(0, 2048)
      .optional()
      .describe('View token of the scope `recording`, for the first request of any file. Later requests use the cookie that it sets.'),
  }),
  replyKind: 'bytes',
  replyHeaders: { 'Accept-Ranges': 'Always `bytes`.', 'Content-Range': 'Range of the response within the file. Sent with status 206.' },
  status: 200,
  alsoStatus: [206],
  errors: ['recording_not_found', 'asset_not_found', 'range_not_satisfiable', 'store_unavailable', 'deadline_exceeded'],
  deadlineMs: 300_000,
});
