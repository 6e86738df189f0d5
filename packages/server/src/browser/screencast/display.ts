/** The screen of a machine that has one. Its windows are kept as large as it is, so a page is sized by it and not by its window. */
import type { Viewport } from '@berth/contract';
import type { Log } from '../../lib/log.ts';
import type { Vm } from '../../runtime/runtime.ts';

type Size = Pick<Viewport, 'width' | 'height'>;

export class Display {
  /** Without one the browser's windows are as large as they are told. */
  readonly isThere: boolean;
  readonly #vm: Pick<Vm, 'sizeDisplay'>;
  readonly #log: Log;
  /** The page for which a machine's display has room when it starts. */
  #fits: Size = { width: 1280, height: 720 };

  constructor(vm: Pick<Vm, 'kind' | 'sizeDisplay'>, log: Log) {
    this.isThere = vm.kind === 'full_browser';
    this.#vm = vm;
    this.#log = log;
  }

  /** A display that is gone is nobody's news here: its machine ends. */
  async fit({ width, height }: Size): Promise<void> {
    if (!this.isThere || (this.#fits.width === width && this.#fits.height === height)) return;
    this.#fits = { width, height };
    try {
      await this.#vm.sizeDisplay({ width, height });
    } catch (error) {
      this.#log.debug({ error }, 'the display was not sized');
    }
  }
}
