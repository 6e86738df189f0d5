/** A HAR 1.2 log as rows. It was recorded from pages, so its texts can be anything. */
export interface TrafficRow {
  key: string;
  method: string;
  url: string;
  /** 0: no response. */
  status: number;
  type: string;
  bytes: number;
  startedMs: number;
  durationMs: number;
  isError: boolean;
}

export interface Traffic {
  /** Newest last. */
  rows: readonly TrafficRow[];
  startMs: number;
  /** Time from the first start to the last end; at least 1. */
  spanMs: number;
}

interface Entry {
  startedDateTime?: string;
  time?: number;
  request?: { method?: string; url?: string };
  response?: { status?: number; bodySize?: number; _transferSize?: number; content?: { mimeType?: string; size?: number } };
  _resourceType?: string;
}

export function toTraffic(log: { entries?: unknown }): Traffic {
  const rows = ((log.entries ?? []) as Entry[]).map((entry, index) => toRow(entry, index));
  const startMs = Math.min(...rows.map(({ startedMs }) => startedMs), Number.MAX_SAFE_INTEGER);
  const endMs = rows.reduce((latest, { startedMs, durationMs }) => Math.max(latest, startedMs + durationMs), startMs);
  return { rows, startMs, spanMs: Math.max(1, endMs - startMs) };
}

function toRow({ startedDateTime, time = 0, request, response, _resourceType: kind }: Entry, index: number): TrafficRow {
  const status = response?.status ?? 0;
  const size = response?._transferSize ?? response?.bodySize ?? response?.content?.size ?? 0;
  return {
    key: `${index} ${request?.url?.slice(0, 100) ?? ''}`,
    method: request?.method ?? '',
    url: request?.url ?? '',
    status,
    type: kind ?? response?.content?.mimeType?.split(';')[0] ?? '',
    bytes: Math.max(0, size),
    startedMs: Date.parse(startedDateTime ?? '') || 0,
    durationMs: Math.max(0, time),
    isError: status === 0 || status >= 400,
  };
}
