import { useEffect, useRef } from 'preact/hooks';
import { TextField } from '../../ui/form/fields.tsx';
import { useTypedText } from '../../ui/form/typed-text.ts';

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
  const { text, type, report } = useTypedText(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const change = useRef(onChange);
  change.current = onChange;
  useEffect(() => () => clearTimeout(timer.current), []);
  const changeSoon = (next: string): void => {
    type(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      report(next.trim());
      change.current(next.trim());
    }, pauseMs);
  };
  return <TextField label={label} type="search" placeholder={placeholder} value={text} onInput={changeSoon} />;
}
