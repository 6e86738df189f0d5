import { parseTextInput, type TextInput } from './text-input.ts';

interface TextEntryOptions {
  onText: (text: string) => void;
  /** The text of an input method before it is committed; empty when it is cancelled. */
  onCompose: (text: string) => void;
  onKey: (input: Extract<TextInput, { kind: 'key' }>) => void;
}

/** Soft keyboards report Backspace only when there is text to delete. A line break triggers no word completion. */
const deletableText = '\n';

/** Reads text of soft keyboards and input methods, which report no keys, from an otherwise empty field. */
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
    field.addEventListener('compositionend', ({ data }) => this.#commit(data), { signal });
    field.addEventListener('input', (event) => this.#handleInput(event), { signal });
  }

  #commit(text: string): void {
    this.#isComposing = false;
    if (text === '') this.#options.onCompose('');
    else this.#options.onText(text);
    this.#clear();
  }

  #handleInput({ inputType, data }: InputEvent): void {
    if (this.#isComposing) return;
    const input = parseTextInput(inputType, data);
    if (input?.kind === 'text') this.#options.onText(input.text);
    else if (input) this.#options.onKey(input);
    this.#clear();
  }

  #clear(): void {
    this.#field.value = deletableText;
  }
}
