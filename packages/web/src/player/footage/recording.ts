/** `recording.json`. `video` is null until there is a frame. */
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
  /** File names relative to this page, without video segments. */
  assets: string[];
}

/** Polling interval while a recording grows. */
export const growthPollMs = 2000;
