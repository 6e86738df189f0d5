/**
 * Metrics of the process, with the usual names for Node. prom-client's default
 * metrics cannot be stopped: each service started in a process would leak a
 * timer and an observer.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { PerformanceObserver, constants, monitorEventLoopDelay, type IntervalHistogram, type PerformanceEntry } from 'node:perf_hooks';
import { Histogram, type Registry } from 'prom-client';
import { Readings } from './readings.ts';

const loopDelayResolutionMs = 10;
const gcSeconds = [0.001, 0.01, 0.1, 1];
const gcKinds: Record<number, string> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

export class ProcessMetrics {
  readonly #loopDelay: IntervalHistogram = monitorEventLoopDelay({ resolution: loopDelayResolutionMs });
  readonly #collections: PerformanceObserver;

  constructor(registry: Registry) {
    const readings = new Readings(registry);
    registerCpuMetrics(readings);
    registerMemoryMetrics(readings);
    registerHandleMetrics(readings);
    registerLoopDelayMetrics(readings, this.#loopDelay);
    const name = 'nodejs_gc_duration_seconds';
    const pauses = new Histogram({
      name,
      help: 'Garbage collections by kind.',
      labelNames: ['kind'],
      buckets: gcSeconds,
      registers: [registry],
    });
    this.#collections = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) pauses.observe({ kind: kindOf(entry) }, entry.duration / 1000);
    });
  }

  /** Neither the timer nor the observer keeps the process alive. */
  start(): void {
    this.#loopDelay.enable();
    this.#collections.observe({ entryTypes: ['gc'] });
  }

  stop(): void {
    this.#loopDelay.disable();
    this.#collections.disconnect();
  }
}

const kindOf = (entry: PerformanceEntry): string => gcKinds[(entry as { detail?: { kind?: number } }).detail?.kind ?? 0] ?? 'other';

function registerCpuMetrics(readings: Readings): void {
  const seconds = (of: 'user' | 'system'): number => process.cpuUsage()[of] / 1e6;
  readings.counter('process_cpu_user_seconds_total', 'CPU time in user mode.', () => seconds('user'));
  readings.counter('process_cpu_system_seconds_total', 'CPU time in the kernel.', () => seconds('system'));
  readings.counter('process_cpu_seconds_total', 'Total CPU time.', () => seconds('user') + seconds('system'));
  readings.gauge('process_start_time_seconds', 'Start of the process, in seconds since 1970.', () => performance.timeOrigin / 1000);
  readings.gaugeBy('version', 'nodejs_version_info', 'Version of Node.', () => ({ [process.version]: 1 }));
}

function registerMemoryMetrics(readings: Readings): void {
  readings.gauge('process_resident_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss());
  readings.gauge('nodejs_heap_size_total_bytes', 'Size of the JavaScript heap.', () => process.memoryUsage().heapTotal);
  readings.gauge('nodejs_heap_size_used_bytes', 'Used part of the JavaScript heap.', () => process.memoryUsage().heapUsed);
  readings.gauge('nodejs_external_memory_bytes', 'Memory outside the heap, such as buffers.', () => process.memoryUsage().external);
}

function registerHandleMetrics(readings: Readings): void {
  readings.gaugeBy('type', 'nodejs_active_resources', 'Resources that keep the process alive, by type.', () =>
    countEach(process.getActiveResourcesInfo()),
  );
  // Linux only.
  if (!existsSync('/proc/self/limits')) return;
  const openMax = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.NaN);
  readings.gauge('process_max_fds', 'Limit of open file descriptors.', () => openMax);
  // Without the descriptor that readdir uses.
  readings.gauge('process_open_fds', 'Open file descriptors.', () => readdirSync('/proc/self/fd').length - 1);
}

/** Event loop delay since the last scrape. */
function registerLoopDelayMetrics(readings: Readings, delay: IntervalHistogram): void {
  // The histogram has the interval between timer ticks, not their delay.
  const late = (nanoseconds: number): number => (delay.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - loopDelayResolutionMs / 1000));
  readings.gauge('nodejs_eventloop_lag_mean_seconds', 'Mean event loop delay since the last scrape.', () => late(delay.mean));
  readings.gauge('nodejs_eventloop_lag_p50_seconds', 'Median event loop delay since the last scrape.', () => late(delay.percentile(50)));
  readings.gauge('nodejs_eventloop_lag_p99_seconds', '99th percentile of the event loop delay since the last scrape.', () =>
    late(delay.percentile(99)),
  );
  readings.gauge('nodejs_eventloop_lag_max_seconds', 'Maximum event loop delay since the last scrape.', () => {
    const max = late(delay.max);
    // Registered last, so it is read last: the next scrape starts anew.
    delay.reset();
    return max;
  });
}

function countEach(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
