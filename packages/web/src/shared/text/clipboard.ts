import { signal } from '@preact/signals';

/** Clipboard exchange with the session, also when the browser denies clipboard access. */
export class Clipboard {
  /** The last text copied in the session. */
  readonly received = signal('');
  /** Opens the panel with the received text. */
  openPanel: () => void = () => {};
  /** Called when the user's clipboard cannot be written. */
  onRefused: () => void = () => this.openPanel();

  /** Writes a text copied in the session to the user's clipboard, or shows it for manual copying. */
  async receive(text: string): Promise<void> {
    this.received.value = text;
    if (text !== '' && !(await this.write(text))) this.onRefused();
  }

  /** Returns whether the browser allowed it. */
  async write(text: string): Promise<boolean> {
    try {
      // `navigator.clipboard` is missing on pages loaded without TLS.
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false;
    }
  }
}
