import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { toShown, type ApiError } from '../api-error.ts';
import { Icon } from './icons.tsx';
import { ErrorNote } from './states.tsx';

interface DialogProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog: the browser keeps the focus in it, and Escape closes it. */
export function Dialog({ title, isOpen, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onClose={onClose}>
      {isOpen && (
        <>
          <div class="dialog-head">
            <h2 id={id}>{title}</h2>
            <button type="button" class="icon-button" aria-label="Close" onClick={() => dialog.current?.close()}>
              <Icon name="close" />
            </button>
          </div>
          {children}
        </>
      )}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What happens, and whether it can be undone. */
  text: ComponentChildren;
  /** A verb and a noun, such as `End the session`. */
  action: string;
  isOpen: boolean;
  onClose: () => void;
  onConfirm: () => Promise<void>;
}

/** Asks before an act that cannot be undone, and shows why it failed. */
export function Confirm({ title, text, action, isOpen, onClose, onConfirm }: ConfirmProps) {
  const isRunning = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const run = async (): Promise<void> => {
    isRunning.value = true;
    error.value = null;
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      error.value = toShown(failure);
    }
    isRunning.value = false;
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <p>{text}</p>
      {error.value && <ErrorNote error={error.value} />}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button button-danger" disabled={isRunning.value} onClick={() => void run()}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
