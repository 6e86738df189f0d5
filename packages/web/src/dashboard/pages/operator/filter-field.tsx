import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { TextField } from '../../ui/form/fields.tsx';

/** Long enough to type on, so that not every letter is a request. */
const pauseMs = 300;

interface FilterFieldProps {
  label: string;
  value: string | undefined;
  placeholder?: string;
  /** Called with the trimmed text, after a pause. */
  onChange: (value: string) => void;
}

export function FilterField({ label, value = '', placeholder, onChange }: FilterFieldProps) {
  const text = useSignal(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const change = useRef(onChange);
  change.current = onChange;
  const reported = useRef(value);
  // What this field reported comes back while its user may be typing on, which must not be overwritten.
  useEffect(() => {
    if (value !== reported.current) text.value = reported.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string): void => {
    text.value = next;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change.current((reported.current = next.trim())), pauseMs);
  };
  return <TextField label={label} type="search" placeholder={placeholder} value={text.value} onInput={type} />;
}
