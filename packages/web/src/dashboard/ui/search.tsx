import { useTypedText } from './form/typed-text.ts';
import { Icon } from './icons.tsx';

interface SearchProps {
  /** What is filtered, for screen readers. */
  caption: string;
  value: string;
  onInput: (value: string) => void;
}

/** A field that filters a list; `/` leads to the first of a page. */
export function Search({ caption, value, onInput }: SearchProps) {
  const { text, type, report } = useTypedText(value);
  const change = (next: string): void => {
    type(next);
    report(next);
    onInput(next);
  };
  return (
    <label class="search">
      <Icon name="search" />
      <span class="visually-hidden">Filter {caption}</span>
      <input type="search" placeholder="Filter" value={text} onInput={(event) => change(event.currentTarget.value)} />
    </label>
  );
}
