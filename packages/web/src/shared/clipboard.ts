import { signal } from '@preact/signals';

/** Text that comes from the session and text that goes there, also where the browser lets no page touch its clipboard. */
export class Clipboard {
  /** What was copied last in the session. */
  readonly received = signal('');
  /** Shows the panel with what was received. */
  show: () => void = () => {};
  /** When the person's clipboard may not be written. */
  onRefused: () => void = () => this.show();

  /** Puts a text that was copied in the session on the person's own clipboard, or shows it, to be copied by hand. */
  async receive(text: string): Promise<void> {
    this.received.value = text;
    if (text !== '' && !(await this.write(text))) this.onRefused();
  }

  /** Whether the browser allowed it. */
  async write(text: string): Promise<boolean> {
    try {
      // Absent where the page came unencrypted from another machine.
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false;
    }
  }
}
