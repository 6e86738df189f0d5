import { signal } from '@preact/signals';
import { Icon } from './icons.tsx';

interface Toast {
  id: number;
  text: string;
}

/** Long enough to read twice. */
const visibleMs = 8000;
const toastsMax = 3;

/** Short messages that disappear automatically. */
export class Toasts {
  readonly list = signal<readonly Toast[]>([]);
  #lastId = 0;

  show(text: string): void {
    const id = ++this.#lastId;
    const rest = this.list.value.filter((toast) => toast.text !== text);
    this.list.value = [...rest, { id, text }].slice(-toastsMax);
    setTimeout(() => this.dismiss(id), visibleMs);
  }

  dismiss(id: number): void {
    this.list.value = this.list.value.filter((toast) => toast.id !== id);
  }
}

/** Always in the page, so that screen readers announce new toasts. */
export const ToastList = ({ toasts }: { toasts: Toasts }) => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.list.value.map(({ id, text }) => (
      <div class="toast" key={id}>
        <span class="toast-text">{text}</span>
        <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => toasts.dismiss(id)}>
          <Icon name="close" />
        </button>
      </div>
    ))}
  </div>
);
