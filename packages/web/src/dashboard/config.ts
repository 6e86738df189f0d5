import { signal } from '@preact/signals';
import type { DashboardConfig } from '@berth/contract';
import { call } from './api.ts';

/** What the service is and offers; null until it has been read. */
export const config = signal<DashboardConfig | null>(null);

/** @throws ApiError */
export async function loadConfig(): Promise<void> {
  config.value = await call('getDashboardConfig');
}
