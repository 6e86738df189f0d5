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
  useEffect(() => {
    text.value = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string): void => {
    text.value = next;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change.current(next.trim()), pauseMs);
  };
  return <TextField label={label} type="search" placeholder={placeholder} value={text.value} onInput={type} />;
}
