/** What a key does to the video. */
export type Shortcut = { does: 'toggle' | 'slower' | 'faster' | 'full-screen' | 'start' | 'end' } | { does: 'skip'; byMs: number };

const skip = (seconds: number): Shortcut => ({ does: 'skip', byMs: seconds * 1000 });

const named: Readonly<Record<string, Shortcut>> = {
  ' ': { does: 'toggle' },
  ArrowLeft: skip(-5),
  ArrowRight: skip(5),
  Home: { does: 'start' },
  End: { does: 'end' },
};

/** Keys of one character: who speaks to the machine, or rests a hand on the keyboard, may switch them off. */
const characters: Readonly<Record<string, Shortcut>> = {
  k: { does: 'toggle' },
  j: skip(-10),
  l: skip(10),
  f: { does: 'full-screen' },
  '<': { does: 'slower' },
  '>': { does: 'faster' },
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

/** The next speed up or down; the same at either end. */
export function nextRate(rate: Rate, step: 1 | -1): Rate {
  const index = rates.indexOf(rate) + step;
  return rates[Math.min(rates.length - 1, Math.max(0, index))] ?? rate;
}
