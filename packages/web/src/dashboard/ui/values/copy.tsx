import { useSignal } from '@preact/signals';
import { Icon } from '../icons.tsx';
import { scrollable } from '../scrollable.ts';
import { toasts } from '../toasts.ts';

const copiedMs = 2000;

interface CopyProps {
  text: string;
  /** What is copied, such as `the address`. */
  what: string;
  /** Shows the words beside the icon. */
  isLabelled?: boolean;
}

export function CopyButton({ text, what, isLabelled = false }: CopyProps) {
  const isCopied = useSignal(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return toasts.show('The browser does not allow this page to use the clipboard. Select the text and copy it.');
    }
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), copiedMs);
  };
  const label = isCopied.value ? 'Copied' : `Copy ${what}`;
  return (
    <button
      type="button"
      class={isLabelled ? 'button' : 'icon-button'}
      title={label}
      aria-label={isLabelled ? undefined : label}
      onClick={() => void copy()}
    >
      <Icon name={isCopied.value ? 'check' : 'copy'} />
      {isLabelled && label}
    </button>
  );
}

/** Code or a long text in a fixed face, with a button that copies it. */
export const CodeBlock = ({ text, label }: { text: string; label: string }) => (
  <div class="code-block">
    <pre {...scrollable(label)}>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} what={label} />
  </div>
);
