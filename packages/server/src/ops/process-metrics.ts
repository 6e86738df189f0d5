/**
 * The process itself, under the names that dashboards for Node know. The
 * library has a set of its own, whose timer and observer nobody can stop: each
 * service that was ever started in a process would leave its own behind.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { PerformanceObserver, constants, monitorEventLoopDelay, type IntervalHistogram, type PerformanceEntry } from 'node:perf_hooks';
import { Histogram, type Registry } from 'prom-client';
import { Readings } from './readings.ts';

/** How often the loop is asked whether it is late. */
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
    tellProcessor(readings);
    tellMemory(readings);
    tellHandles(readings);
    tellLoopDelay(readings, this.#loopDelay);
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

function tellProcessor(readings: Readings): void {
  const seconds = (of: 'user' | 'system'): number => process.cpuUsage()[of] / 1e6;
  readings.counter('process_cpu_user_seconds_total', 'Processor time in user mode.', () => seconds('user'));
  readings.counter('process_cpu_system_seconds_total', 'Processor time in the kernel.', () => seconds('system'));
  readings.counter('process_cpu_seconds_total', 'Processor time.', () => seconds('user') + seconds('system'));
  readings.gauge('process_start_time_seconds', 'When the process started, in seconds since 1970.', () => performance.timeOrigin / 1000);
  readings.gaugeBy('version', 'nodejs_version_info', 'The version of Node.', () => ({ [process.version]: 1 }));
}

function tellMemory(readings: Readings): void {
  readings.gauge('process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
  readings.gauge('nodejs_heap_size_total_bytes', 'The heap of JavaScript.', () => process.memoryUsage().heapTotal);
  readings.gauge('nodejs_heap_size_used_bytes', 'What is used of it.', () => process.memoryUsage().heapUsed);
  readings.gauge('nodejs_external_memory_bytes', 'Buffers and the like, beside the heap.', () => process.memoryUsage().external);
}

function tellHandles(readings: Readings): void {
  readings.gaugeBy('type', 'nodejs_active_resources', 'What keeps the process busy, by kind.', () =>
    countEach(process.getActiveResourcesInfo()),
  );
  // Linux only.
  if (!existsSync('/proc/self/limits')) return;
  const openMax = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.NaN);
  readings.gauge('process_max_fds', 'File descriptors that may be open.', () => openMax);
  // Without the one that lists them.
  readings.gauge('process_open_fds', 'Open file descriptors.', () => readdirSync('/proc/self/fd').length - 1);
}

/** Of the time between two scrapes. */
function tellLoopDelay(readings: Readings, delay: IntervalHistogram): void {
  // It tells how long after the last time its timer fired, not how late.
  const late = (nanoseconds: number): number => (delay.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - loopDelayResolutionMs / 1000));
  readings.gauge('nodejs_eventloop_lag_mean_seconds', 'How late timers were since the last scrape: the mean.', () => late(delay.mean));
  readings.gauge('nodejs_eventloop_lag_p50_seconds', 'The same: the median.', () => late(delay.percentile(50)));
  readings.gauge('nodejs_eventloop_lag_p99_seconds', 'The same: 99 % were less late.', () => late(delay.percentile(99)));
  readings.gauge('nodejs_eventloop_lag_max_seconds', 'The same: the latest.', () => {
    const max = late(delay.max);
    // The last of the four that is read: the next scrape begins anew.
    delay.reset();
    return max;
  });
}

function countEach(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
