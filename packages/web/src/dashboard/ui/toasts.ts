import { toShown } from '../api-error.ts';
import { Toasts } from '../../shared/toasts.tsx';

/** The messages of the whole dashboard; the layout shows them. */
export const toasts = new Toasts();

/** Reports that something failed, in the service's words. */
export const toastError = (error: unknown): void => {
  const { message, requestId } = toShown(error);
  toasts.show(requestId ? `${message} (${requestId})` : message);
};
