import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Clipboard } from './clipboard.ts';
import { Popover } from '../popover.tsx';

interface ClipboardPanelProps {
  clipboard: Clipboard;
  /** Sends a text to the session. */
  onInsert: (text: string) => void;
  insertLabel: string;
}

export const clipboardPanelId = 'clipboard';

/** Works without clipboard permission, as both texts can be copied and pasted manually. */
export function ClipboardPanel({ clipboard, onInsert, insertLabel }: ClipboardPanelProps) {
  const panel = useRef<HTMLDivElement>(null);
  const received = useRef<HTMLTextAreaElement>(null);
  const outgoing = useSignal('');
  const copied = useSignal(false);
  useEffect(() => {
    clipboard.openPanel = () => {
      panel.current?.showPopover();
      // The shortcut for copying needs the focus.
      received.current?.focus();
      received.current?.select();
    };
  }, [clipboard]);
  const copy = async () => {
    received.current?.select();
    // The Clipboard API is missing on pages loaded without TLS.
    copied.value = (await clipboard.write(clipboard.received.value)) || document.execCommand('copy');
  };
  const insert = () => {
    onInsert(outgoing.value);
    outgoing.value = '';
    panel.current?.hidePopover();
  };
  return (
    <Popover id={clipboardPanelId} title="Clipboard" popoverRef={panel}>
      <label class="field">
        <span>Copied in the session</span>
        <textarea
          ref={received}
          rows={4}
          readOnly
          value={clipboard.received}
          placeholder="Nothing yet"
          onFocus={() => (copied.value = false)}
        />
      </label>
      <div class="field-actions">
        <span role="status" class="muted">
          {copied.value ? 'Copied' : ''}
        </span>
        <button type="button" class="button" disabled={clipboard.received.value === ''} onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <label class="field">
        <span>Text for the session</span>
        <textarea
          rows={4}
          value={outgoing}
          onInput={(event) => (outgoing.value = event.currentTarget.value)}
          placeholder="Type or paste here"
        />
      </label>
      <div class="field-actions">
        <button type="button" class="button button-main" disabled={outgoing.value === ''} onClick={insert}>
          {insertLabel}
        </button>
      </div>
    </Popover>
  );
}
