import { useSignal } from '@preact/signals';
import { toShown, type ApiError } from '../../api-error.ts';

/** The state of a form or button that sends something: whether it does, and why that failed last. */
export function useSending() {
  const isSending = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const send = async (work: () => Promise<void>): Promise<void> => {
    isSending.value = true;
    error.value = null;
    try {
      await work();
    } catch (failure) {
      error.value = toShown(failure);
    }
    isSending.value = false;
  };
  return { isSending: isSending.value, error: error.value, send, forget: () => void (error.value = null) };
}
