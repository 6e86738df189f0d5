/** Keys that work on every page. */
import { signal } from '@preact/signals';

export const paletteIsOpen = signal(false);
export const helpIsOpen = signal(false);

/** Absent outside of a browser. */
const platform = typeof navigator === 'undefined' ? '' : navigator.userAgent;
export const modifier = /Mac|iPhone|iPad/.test(platform) ? '⌘' : 'Ctrl';

/** Keyboard shortcuts that the help shows. */
export const shortcuts: readonly (readonly [keys: string, does: string])[] = [
  [`${modifier} K`, 'Search pages, sessions and actions'],
  ['?', 'Show this help'],
  ['/', 'Filter the table of the page'],
  ['← →', 'Move along a row of tabs'],
  ['Tab', 'Move to the next link, field or button'],
  ['Enter', 'Open or do what is selected'],
  ['Escape', 'Close what is open'],
];

interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  /** Whether the key types a character where it was pressed. */
  isTyping: boolean;
}

/** What a key does: `palette` everywhere, the others only where nothing is typed. */
export function shortcutOf({ key, ctrlKey, metaKey, altKey, isTyping }: Pressed): 'palette' | 'help' | 'filter' | null {
  if (altKey) return null;
  if (ctrlKey !== metaKey) return key.toLowerCase() === 'k' ? 'palette' : null;
  if (ctrlKey || isTyping) return null;
  return key === '?' ? 'help' : key === '/' ? 'filter' : null;
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio], [type=button]), textarea, select'));

/** Live views and windows in a page take all keys: theirs are not ours. */
export function listenForShortcuts(signal: AbortSignal): void {
  addEventListener(
    'keydown',
    (event) => {
      const shortcut = event.isComposing || event.defaultPrevented ? null : shortcutOf(toPressed(event));
      if (!shortcut) return;
      if (shortcut === 'palette') paletteIsOpen.value = !paletteIsOpen.value;
      else if (document.querySelector('dialog[open]')) return;
      else if (shortcut === 'help') helpIsOpen.value = true;
      else if (!focusFilter()) return;
      event.preventDefault();
    },
    { signal },
  );
}

const toPressed = ({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): Pressed => ({
  key,
  ctrlKey,
  metaKey,
  altKey,
  isTyping: isField(target),
});

function focusFilter(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type=search]');
  field?.focus();
  field?.select();
  return field !== null;
}
