/** The screen of a machine that has one. Windows fill it, so a page is sized by the screen and not by its window. */
import type { Viewport } from '@berth/contract';
import type { Log } from '@berth/lib/log.ts';
import { displaySize, type Vm } from '@berth/machines';

type Size = Pick<Viewport, 'width' | 'height'>;

export class Display {
  /** Whether the machine has a display; without one the size of a browser window is set directly. */
  readonly isAvailable: boolean;
  readonly #vm: Pick<Vm, 'resizeDisplay'>;
  readonly #log: Log;
  /** A machine's display starts with this page size. */
  #size: Size = { width: 1280, height: 720 };

  constructor(vm: Pick<Vm, 'kind' | 'resizeDisplay'>, log: Log) {
    this.isAvailable = vm.kind === 'full_browser';
    this.#vm = vm;
    this.#log = log;
  }

  /** The screen of a window whose page has this size; null: it is on the display. */
  screenFor({ width, height }: Size): Size | null {
    return this.isAvailable ? null : displaySize({ width, height });
  }

  /** Failures are only logged: a machine without its display ends anyway. */
  async resize({ width, height }: Size): Promise<void> {
    if (!this.isAvailable || (this.#size.width === width && this.#size.height === height)) return;
    this.#size = { width, height };
    try {
      await this.#vm.resizeDisplay({ width, height });
    } catch (error) {
      this.#log.debug({ err: error }, 'display resize failed');
    }
  }
}
