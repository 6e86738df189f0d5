/** `recording.json`. `video` is null until there is a picture. */
export interface Recording {
  rec_id: string;
  session_id: string;
  status: 'recording' | 'complete' | 'incomplete' | 'failed';
  video: 'hls' | 'frames' | null;
  started_at: string;
  ended_at: string | null;
  duration_ms: number;
  size_bytes: number;
  truncated: boolean;
  /** Names beside this page, without the segments of a video. */
  assets: string[];
}

/** How often to look for more while a recording grows. */
export const growthPollMs = 2000;
