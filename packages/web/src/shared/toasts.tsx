import { signal } from '@preact/signals';
import { Icon } from './icons.tsx';

interface Toast {
  id: number;
  text: string;
}

/** Long enough to be read twice. */
const shownMs = 8000;
const toastsMax = 3;

/** Short messages that nobody has to answer. */
export class Toasts {
  readonly list = signal<readonly Toast[]>([]);
  #lastId = 0;

  say(text: string): void {
    const id = ++this.#lastId;
    const others = this.list.value.filter((toast) => toast.text !== text);
    this.list.value = [...others, { id, text }].slice(-toastsMax);
    setTimeout(() => this.drop(id), shownMs);
  }

  drop(id: number): void {
    this.list.value = this.list.value.filter((toast) => toast.id !== id);
  }
}

/** Always in the page, so that a reader of screens hears what comes into it. */
export const ToastList = ({ toasts }: { toasts: Toasts }) => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.list.value.map(({ id, text }) => (
      <div class="toast" key={id}>
        <span class="toast-text">{text}</span>
        <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => toasts.drop(id)}>
          <Icon name="close" />
        </button>
      </div>
    ))}
  </div>
);
