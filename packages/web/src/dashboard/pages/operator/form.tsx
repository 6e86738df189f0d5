/** A form that sends one request, and shows what the service says to it. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { toShown, type ApiError } from '../../api-error.ts';
import { ErrorNote } from '../../ui/states.tsx';

interface SendFormProps {
  /** A verb and a noun, such as `Grant credits`. */
  action: string;
  /** @throws ApiError */
  onSend: () => Promise<void>;
  isReady?: boolean;
  isDanger?: boolean;
  children: ComponentChildren;
}

export function SendForm({ action, onSend, isReady = true, isDanger = false, children }: SendFormProps) {
  const error = useSignal<ApiError | null>(null);
  const isSending = useSignal(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    isSending.value = true;
    error.value = null;
    try {
      await onSend();
    } catch (failure) {
      error.value = toShown(failure);
    }
    isSending.value = false;
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      {children}
      {error.value && <ErrorNote error={error.value} />}
      <div class="dialog-actions">
        <button type="submit" class={`button ${isDanger ? 'button-danger' : 'button-main'}`} disabled={isSending.value || !isReady}>
          {isSending.value ? 'Sending' : action}
        </button>
      </div>
    </form>
  );
}
