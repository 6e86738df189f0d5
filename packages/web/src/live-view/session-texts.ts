/** The session's state in words. */
import type { LiveState } from '@berth/contract/live-view';

const minuteMs = 60_000;

/** Seconds only in the last two minutes. */
export function timeLeftText(leftMs: number): string {
  if (leftMs <= 0) return 'ends now';
  if (leftMs < 2 * minuteMs) return `${Math.ceil(leftMs / 1000)} s left`;
  const minutes = Math.floor(leftMs / minuteMs);
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes} min left` : `${hours} h ${minutes % 60} min left`;
}

/** Who drives the session beside the reader; empty where nobody does. */
export function driversText({ people, clients, api }: LiveState['drivers'], { isMeDriving }: { isMeDriving: boolean }): string {
  const others = people - (isMeDriving ? 1 : 0);
  const names = [
    ...(others > 0 ? [others === 1 ? `1 ${isMeDriving ? 'other ' : ''}person` : `${others} ${isMeDriving ? 'other ' : ''}people`] : []),
    ...(clients > 0 ? [clients === 1 ? '1 program' : `${clients} programs`] : []),
    ...(api ? ['API calls'] : []),
  ];
  return names.length === 0 ? '' : `${isMeDriving ? 'Also driven' : 'Driven'} by ${names.join(', ')}`;
}
