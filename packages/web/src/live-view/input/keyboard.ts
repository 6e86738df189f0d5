import { modifierBits, type LiveViewCommand } from '@berth/contract/live-view';
import { isMac } from '../../shared/platform.ts';
import { TextEntry } from '../../shared/text/text-entry.ts';
import { PressedKeys, meaningOf, type KeyPress } from './keys.ts';

interface KeyboardOptions {
  send: (command: LiveViewCommand) => void;
  sendText: (text: string) => void;
  /** Returns the focus to the controls of this page. */
  onLeave: () => void;
}

const toKeyPress = (event: KeyboardEvent): KeyPress => {
  const { key, code, location, repeat, altKey, ctrlKey, metaKey, shiftKey, isComposing } = event;
  return { key, code, location, repeat, altKey, ctrlKey, metaKey, shiftKey, isComposing, isAltGraph: event.getModifierState('AltGraph') };
};

/** Sends typing in the field as keys, or as text when the browser reports no keys. */
export class Keyboard {
  readonly #options: KeyboardOptions;
  readonly #pressedKeys = new PressedKeys({ isMac });

  constructor(options: KeyboardOptions) {
    this.#options = options;
  }

  listen(field: HTMLTextAreaElement, { signal }: { signal: AbortSignal }): void {
    const { send, sendText } = this.#options;
    const entry = new TextEntry(field, {
      onText: sendText,
      onCompose: (text) => send({ type: 'compose', text, start: text.length, end: text.length }),
      onKey: ({ key, isWord }) => this.#press(key, isWord ? modifierBits.control : 0),
    });
    entry.listen({ signal });
    field.addEventListener('keydown', (event) => this.#down(event), { signal });
    field.addEventListener('keyup', (event) => this.#up(event), { signal });
    field.addEventListener('blur', () => this.#pressedKeys.releaseAll().forEach(send), { signal });
    field.addEventListener('paste', (event) => this.#paste(event), { signal });
  }

  #down(event: KeyboardEvent): void {
    const press = toKeyPress(event);
    const meaning = meaningOf(press);
    switch (meaning) {
      case 'leave':
        event.preventDefault();
        this.#options.onLeave();
        return;
      case 'local':
      case 'typing':
      case 'paste':
        return;
      case 'copy':
        event.preventDefault();
        this.#send(press);
        this.#options.send({ type: 'copy' });
        return;
      case 'cut':
        event.preventDefault();
        // Before the key, as nothing is selected after a cut.
        this.#options.send({ type: 'copy' });
        this.#send(press);
        return;
      case 'send':
        event.preventDefault();
        this.#send(press);
        return;
    }
  }

  #up(event: KeyboardEvent): void {
    const commands = this.#pressedKeys.up(toKeyPress(event));
    if (commands.length > 0) event.preventDefault();
    commands.forEach(this.#options.send);
  }

  #send(press: KeyPress): void {
    const command = this.#pressedKeys.down(press);
    if (command) this.#options.send(command);
  }

  #press(key: string, modifiers: number): void {
    const command = { type: 'key', key, code: key, modifiers, repeat: false, location: 0 } as const;
    this.#options.send({ ...command, action: 'down' });
    this.#options.send({ ...command, action: 'up' });
  }

  #paste(event: ClipboardEvent): void {
    event.preventDefault();
    const text = event.clipboardData?.getData('text/plain');
    if (text) this.#options.sendText(text);
  }
}
