import { batch, computed, signal } from '@preact/signals';
import { AssetError, readJson, type AssetErrorReason } from './footage/asset.ts';
import type { Footage } from './footage/footage.ts';
import { GrowingLines } from './footage/growing-lines.ts';
import { growthPollMs, type Recording } from './footage/recording.ts';
import type { Rate, Shortcut } from './shortcuts.ts';
import { nextRate } from './shortcuts.ts';
import {
  compareRows,
  eventKinds,
  foldedKinds,
  isTimelineEvent,
  pickRows,
  rowAt,
  toRow,
  type EventKind,
  type Row,
} from './timeline/timeline.ts';

/** The file itself has all events. */
export const rowsMax = 50_000;
/** Distance from the live edge at which playback does not stall at once. */
const edgeMs = 4000;

/** State of the player page. */
export class Player {
  readonly recording = signal<Recording | null>(null);
  readonly loadError = signal<AssetErrorReason | null>(null);
  readonly footage = signal<Footage | null>(null);
  readonly rate = signal<Rate>(1);
  readonly withCharacters = signal(true);
  readonly hasStarted = signal(false);
  readonly kinds = signal<ReadonlySet<EventKind>>(new Set(eventKinds.filter((kind) => !foldedKinds.includes(kind))));
  readonly search = signal('');
  readonly rows = signal<readonly Row[]>([]);
  readonly picked = computed(() => pickRows(this.rows.value, { kinds: this.kinds.value, search: this.search.value }));
  /** Index of the current row among the filtered ones. */
  readonly current = computed(() => rowAt(this.picked.value, this.timeMs.value));
  /** The row that the user selected; null while the list follows the video. */
  readonly chosen = signal<Row | null>(null);
  /** Index of the selected row among the filtered ones, null where they do not have it. */
  readonly chosenIndex = computed(() => {
    const index = this.chosen.value === null ? -1 : this.picked.value.indexOf(this.chosen.value);
    return index === -1 ? null : index;
  });
  readonly timeMs = computed(() => this.footage.value?.timeMs.value ?? 0);
  readonly durationMs = computed(() => this.footage.value?.durationMs.value || this.recording.value?.duration_ms || 0);
  readonly isPlaying = computed(() => this.footage.value?.isPlaying.value ?? false);
  readonly isGrowing = computed(() => this.recording.value?.status === 'recording');
  readonly isAtEdge = computed(() => this.timeMs.value >= this.durationMs.value - 2 * edgeMs);
  readonly #events = new GrowingLines<unknown>('events.ndjson');
  onFullScreen: () => void = () => {};

  /** Loads the recording, and polls while it grows. */
  async load(): Promise<void> {
    try {
      const recording = await readJson<Recording>('recording.json');
      // Read after the status: once the recording has ended, the file is complete.
      const lines = await this.#events.readNew();
      batch(() => {
        this.recording.value = recording;
        this.loadError.value = null;
        this.#add(lines);
      });
    } catch (error) {
      this.loadError.value = error instanceof AssetError ? error.reason : 'unreachable';
    }
    const shouldReload = this.loadError.value === 'unreachable' || (this.loadError.value === null && this.isGrowing.value);
    if (shouldReload) setTimeout(() => void this.load(), growthPollMs);
  }

  toggle(): void {
    const footage = this.footage.value;
    if (!footage) return;
    this.hasStarted.value = true;
    if (footage.isPlaying.value) footage.pause();
    else footage.play();
  }

  seek(toMs: number): void {
    this.hasStarted.value = true;
    this.footage.value?.seek(toMs);
  }

  goToEdge(): void {
    this.seek(this.durationMs.value - edgeMs);
    this.footage.value?.play();
  }

  setRate(rate: Rate): void {
    this.rate.value = rate;
    this.footage.value?.setRate(rate);
  }

  do(shortcut: Shortcut): void {
    switch (shortcut.action) {
      case 'toggle':
        return this.toggle();
      case 'skip':
        return this.seek(this.timeMs.value + shortcut.byMs);
      case 'slower':
        return this.setRate(nextRate(this.rate.value, -1));
      case 'faster':
        return this.setRate(nextRate(this.rate.value, 1));
      case 'start':
        return this.seek(0);
      case 'end':
        return this.seek(this.durationMs.value);
      case 'full-screen':
        return this.onFullScreen();
    }
  }

  #add(lines: readonly unknown[]): void {
    if (lines.length === 0) return;
    const rows = [...this.rows.value, ...lines.filter(isTimelineEvent).map(toRow)];
    rows.sort(compareRows);
    this.rows.value = rows.slice(0, rowsMax);
  }
}
