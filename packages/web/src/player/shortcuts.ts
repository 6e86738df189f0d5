/** Keyboard shortcuts of the player. */
export type Shortcut = { action: 'toggle' | 'slower' | 'faster' | 'full-screen' | 'start' | 'end' } | { action: 'skip'; byMs: number };

const skip = (seconds: number): Shortcut => ({ action: 'skip', byMs: seconds * 1000 });

const named: Readonly<Record<string, Shortcut>> = {
  ' ': { action: 'toggle' },
  ArrowLeft: skip(-5),
  ArrowRight: skip(5),
  Home: { action: 'start' },
  End: { action: 'end' },
};

/** Single-character shortcuts. They can be switched off, for speech input (WCAG 2.1.4). */
const characters: Readonly<Record<string, Shortcut>> = {
  k: { action: 'toggle' },
  j: skip(-10),
  l: skip(10),
  f: { action: 'full-screen' },
  '<': { action: 'slower' },
  '>': { action: 'faster' },
};

interface Press {
  key: string;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

export function shortcutOf(
  { key, ctrlKey, altKey, metaKey }: Press,
  { withCharacters }: { withCharacters: boolean },
): Shortcut | undefined {
  if (ctrlKey || altKey || metaKey) return undefined;
  if (Object.hasOwn(named, key)) return named[key];
  const character = key.toLowerCase();
  return withCharacters && Object.hasOwn(characters, character) ? characters[character] : undefined;
}

export const rates = [0.5, 1, 1.5, 2, 4, 8, 16] as const;
export type Rate = (typeof rates)[number];

/** Returns the next higher or lower speed; the same at either end. */
export function nextRate(rate: Rate, step: 1 | -1): Rate {
  const index = rates.indexOf(rate) + step;
  return rates[Math.min(rates.length - 1, Math.max(0, index))] ?? rate;
}
