/** Usage as charts and meters show it. */
import type { UsageDay, UsageResponse } from '@berth/contract';

export const axes = ['actions', 'egress_bytes', 'browser_seconds', 'sessions', 'captcha_solves'] as const;
export type Axis = (typeof axes)[number];

export const axisTitles: Record<Axis, string> = {
  actions: 'Actions',
  egress_bytes: 'Traffic',
  browser_seconds: 'Browser time',
  sessions: 'Sessions',
  captcha_solves: 'Captchas solved',
};

/** Midnight in the viewer's time zone, so that a chart's axis names the day, which is one of UTC. */
export function dayMs(day: string): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date).getTime();
}

export const valuesOf = (days: readonly UsageDay[], axis: Axis): number[] => days.map((day) => day[axis]);

export interface AxisUsage {
  axis: Axis;
  used: number;
  /** null: unlimited. */
  limit: number | null;
  /** 0 to 1 and more; null without a limit. */
  share: number | null;
  /** What the month comes to if it goes on as since the first use in it; null for the day after that, which says too little. */
  forecast: number | null;
}

const dayLengthMs = 86_400_000;

export function usageByAxis({ usage, limits, month, resets_at: resetsAt, days = [] }: UsageResponse, nowMs: number): AxisUsage[] {
  const startMs = firstUseMs(month, days);
  const elapsedMs = nowMs - startMs;
  const lengthMs = Date.parse(resetsAt) - startMs;
  return axes.map((axis) => {
    const used = usage[axis];
    const limit = axis === 'sessions' ? null : limits[axis];
    return {
      axis,
      used,
      limit,
      share: limit === null ? null : limit === 0 ? Number(used > 0) : used / limit,
      forecast: elapsedMs < dayLengthMs ? null : Math.round((used * lengthMs) / Math.min(elapsedMs, lengthMs)),
    };
  });
}

/** The start of the month, or the first day of it with any usage: an owner who came later has used nothing before. */
function firstUseMs(month: string, days: readonly UsageDay[]): number {
  const first = days.find((day) => day.day.startsWith(month) && axes.some((axis) => day[axis] > 0));
  const covered = days[0]?.day ?? '';
  // Days before the list may have had usage.
  return Date.parse(`${first !== undefined && covered <= `${month}-01` ? first.day : `${month}-01`}T00:00:00.000Z`);
}

/** When to warn: before calls are refused. */
export const nearlyAll = 0.8;
