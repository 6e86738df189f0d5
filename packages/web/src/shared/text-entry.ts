import { readTextInput, type TextInput } from './text-input.ts';

interface TextEntryOptions {
  onText: (text: string) => void;
  /** What an input method shows before it is settled; empty when it gave up. */
  onCompose: (text: string) => void;
  onKey: (input: Extract<TextInput, { kind: 'key' }>) => void;
}

/** A soft keyboard tells Backspace only where there is something to delete; a line of its own is completed by no dictionary. */
const somethingToDelete = '\n';

/** Reads typing that comes without keys, as of soft keyboards and input methods, out of a field that stays empty. */
export class TextEntry {
  readonly #field: HTMLTextAreaElement;
  readonly #options: TextEntryOptions;
  #isComposing = false;

  constructor(field: HTMLTextAreaElement, options: TextEntryOptions) {
    this.#field = field;
    this.#options = options;
  }

  listen({ signal }: { signal: AbortSignal }): void {
    const field = this.#field;
    this.#clear();
    field.addEventListener('compositionstart', () => (this.#isComposing = true), { signal });
    field.addEventListener('compositionupdate', ({ data }) => this.#options.onCompose(data), { signal });
    field.addEventListener('compositionend', ({ data }) => this.#settle(data), { signal });
    field.addEventListener('input', (event) => this.#read(event), { signal });
  }

  #settle(text: string): void {
    this.#isComposing = false;
    if (text === '') this.#options.onCompose('');
    else this.#options.onText(text);
    this.#clear();
  }

  #read({ inputType, data }: InputEvent): void {
    if (this.#isComposing) return;
    const input = readTextInput(inputType, data);
    if (input?.kind === 'text') this.#options.onText(input.text);
    else if (input) this.#options.onKey(input);
    this.#clear();
  }

  #clear(): void {
    this.#field.value = somethingToDelete;
  }
}
