import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

interface SearchProps {
  /** What is filtered, for screen readers. */
  caption: string;
  value: string;
  onInput: (value: string) => void;
}

/** A field that filters a list; `/` leads to the first of a page. */
export function Search({ caption, value, onInput }: SearchProps) {
  const text = useSignal(value);
  const reported = useRef(value);
  // What this field reported comes back through the address while its user types on, which must not be overwritten.
  useEffect(() => {
    if (value !== reported.current) text.value = reported.current = value;
  }, [value]);
  const type = (next: string): void => {
    text.value = reported.current = next;
    onInput(next);
  };
  return (
    <label class="search">
      <Icon name="search" />
      <span class="visually-hidden">Filter {caption}</span>
      <input type="search" placeholder="Filter" value={text.value} onInput={(event) => type(event.currentTarget.value)} />
    </label>
  );
}
