import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

interface TypedText {
  /** The text of the field. */
  text: string;
  type: (next: string) => void;
  /** Says which value the field has told its page. It comes back while its user may be typing on, whose text it does not replace. */
  report: (value: string) => void;
}

/** The text of a field whose value is kept elsewhere, as in the address: what others set there replaces the text. */
export function useTypedText(value: string): TypedText {
  const text = useSignal(value);
  const reported = useRef(value);
  useEffect(() => {
    if (value !== reported.current) text.value = reported.current = value;
  }, [value]);
  return { text: text.value, type: (next) => (text.value = next), report: (next) => (reported.current = next) };
}
