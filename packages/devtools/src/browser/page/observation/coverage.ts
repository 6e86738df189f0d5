/** Which bytes of scripts and style sheets a page has used, and how long its scripts have run. */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import type { Connection } from '../../cdp/connection.ts';
import type { SourceCoverage } from '../private-model.ts';

const commandMsMax = 5000;
const sourcesMax = 500;
const urlCharsMax = 2048;
/** Interval of the CPU samples in µs, at which sampling costs less than a percent of a page's time. */
const samplingInterval = 2000;

type ScriptRange = Protocol.Profiler.CoverageRange;

export class Coverage {
  readonly #connection: Connection;
  readonly #sessionId: string;
  readonly #sheets = new Map<string, { url: string; bytes: number }>();
  readonly #undo: () => void;

  constructor(connection: Connection, sessionId: string) {
    this.#connection = connection;
    this.#sessionId = sessionId;
    this.#undo = connection.on('CSS.styleSheetAdded', ({ header }, from) => {
      const { styleSheetId, sourceURL, length, isInline } = header;
      if (from !== sessionId || isInline || !/^https?:/.test(sourceURL) || this.#sheets.size >= sourcesMax) return;
      this.#sheets.set(styleSheetId, { url: cutText(sourceURL, urlCharsMax), bytes: length });
    });
  }

  /** Call before a page loads. Without an answer the page has no coverage. */
  async start(signal: AbortSignal): Promise<void> {
    this.#sheets.clear();
    const options = { sessionId: this.#sessionId, signal, timeoutMs: commandMsMax };
    await Promise.all([
      this.#connection.send('Profiler.enable', undefined, options),
      this.#connection.send('Profiler.startPreciseCoverage', { callCount: false, detailed: true }, options),
      this.#connection.send('Profiler.setSamplingInterval', { interval: samplingInterval }, options),
      this.#connection.send('Profiler.start', undefined, options),
      this.#connection.send('DOM.enable', {}, options),
      this.#connection.send('CSS.enable', undefined, options),
      this.#connection.send('CSS.startRuleUsageTracking', undefined, options),
    ]).catch(() => signal.throwIfAborted());
  }

  /** Ends the collection and returns the coverage of the current page. Empty where the browser does not answer. */
  async take(signal: AbortSignal): Promise<SourceCoverage[]> {
    const options = { sessionId: this.#sessionId, signal, timeoutMs: commandMsMax };
    const [profile, scripts, rules] = await Promise.all([
      this.#connection.send('Profiler.stop', undefined, options).catch(() => null),
      this.#connection.send('Profiler.takePreciseCoverage', undefined, options).catch(() => null),
      this.#connection.send('CSS.stopRuleUsageTracking', undefined, options).catch(() => null),
    ]);
    signal.throwIfAborted();
    return [...toScripts(scripts?.result ?? [], scriptTimes(profile?.profile)), ...this.#toSheets(rules?.ruleUsage ?? [])];
  }

  end(): void {
    this.#undo();
    const sessionId = this.#sessionId;
    for (const method of ['Profiler.stopPreciseCoverage', 'Profiler.disable', 'CSS.disable', 'DOM.disable'] as const)
      void this.#connection.send(method, undefined, { sessionId }).catch(() => {});
  }

  #toSheets(rules: readonly Protocol.CSS.RuleUsage[]): SourceCoverage[] {
    const used = new Map<string, Map<number, number>>();
    for (const { styleSheetId, startOffset, endOffset, used: isUsed } of rules) {
      if (!isUsed) continue;
      const ranges = used.get(styleSheetId) ?? new Map<number, number>();
      used.set(styleSheetId, ranges.set(startOffset, Math.max(endOffset, ranges.get(startOffset) ?? 0)));
    }
    return [...this.#sheets].map(([id, { url, bytes }]) => {
      const usedBytes = [...(used.get(id) ?? [])].reduce((sum, [start, end]) => sum + (end - start), 0);
      return { url, type: 'css', totalBytes: bytes, usedBytes: Math.min(bytes, usedBytes), scriptMs: null };
    });
  }
}

/** A source that is loaded several times counts with its largest use. */
function toScripts(scripts: readonly Protocol.Profiler.ScriptCoverage[], timeOf: ReadonlyMap<string, number> | null): SourceCoverage[] {
  const byUrl = new Map<string, SourceCoverage>();
  for (const { url, functions } of scripts) {
    if (!/^https?:/.test(url) || (byUrl.size >= sourcesMax && !byUrl.has(url))) continue;
    const ranges = functions.flatMap(({ ranges: own }) => own);
    const totalBytes = ranges.reduce((end, { endOffset }) => Math.max(end, endOffset), 0);
    const usedBytes = usedOf(ranges);
    const before = byUrl.get(url);
    if (before && before.usedBytes >= usedBytes) continue;
    const scriptMs = timeOf && Math.round(timeOf.get(url) ?? 0);
    byUrl.set(url, { url: cutText(url, urlCharsMax), type: 'js', totalBytes, usedBytes, scriptMs });
  }
  return [...byUrl.values()];
}

/** Ranges are nested, and the innermost decides. */
function usedOf(ranges: readonly ScriptRange[]): number {
  const points = ranges
    .flatMap((range) => [
      { offset: range.startOffset, isStart: true, range },
      { offset: range.endOffset, isStart: false, range },
    ])
    .sort(inNestingOrder);
  const open: ScriptRange[] = [];
  let used = 0;
  let last = 0;
  for (const { offset, isStart, range } of points) {
    if ((open.at(-1)?.count ?? 0) > 0) used += offset - last;
    last = offset;
    if (isStart) open.push(range);
    else open.pop();
  }
  return used;
}

interface Point {
  offset: number;
  isStart: boolean;
  range: ScriptRange;
}

const lengthOf = ({ startOffset, endOffset }: ScriptRange): number => endOffset - startOffset;

/** Sorts by offset. At one offset, ends come before starts; the longer range starts first and ends last. */
function inNestingOrder(one: Point, other: Point): number {
  if (one.offset !== other.offset) return one.offset - other.offset;
  if (one.isStart !== other.isStart) return one.isStart ? 1 : -1;
  const byLength = lengthOf(other.range) - lengthOf(one.range);
  return one.isStart ? byLength : -byLength;
}

/** The run time of scripts in ms by URL, with that of the browser's functions that they call; null without a profile. */
function scriptTimes(profile: Protocol.Profiler.Profile | undefined): Map<string, number> | null {
  if (!profile) return null;
  const { nodes, samples = [], timeDeltas = [] } = profile;
  const urlOf = urlsOf(nodes);
  const times = new Map<string, number>();
  for (const [i, id] of samples.entries()) {
    const url = urlOf.get(id) ?? '';
    // A sample says what ran until the next one. The browser's clock may go back.
    if (url !== '') times.set(url, (times.get(url) ?? 0) + Math.max(0, timeDeltas[i + 1] ?? 0) / 1000);
  }
  return times;
}

/** The URL of each node by its id: its own, or that of the script that called it. */
function urlsOf(nodes: readonly Protocol.Profiler.ProfileNode[]): Map<number, string> {
  const urls = new Map<number, string>();
  // Parents come before their children.
  for (const { id, callFrame, children = [] } of nodes) {
    const url = callFrame.url === '' ? (urls.get(id) ?? '') : callFrame.url;
    urls.set(id, url);
    for (const child of children) urls.set(child, url);
  }
  return urls;
}
