/** Moves in an open list by keys, as browsers do. */
import type { LiveOption } from '@berth/contract/live-view';

const pageOptions = 10;

/** Returns the position that is marked after a key. `typed`: the letters so far; empty for other keys. */
export function optionAfter(options: readonly LiveOption[], from: number, { key, typed }: { key: string; typed: string }): number {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: pageOptions,
    PageUp: -pageOptions,
    Home: -options.length,
    End: options.length,
  };
  const step = Object.hasOwn(steps, key) ? steps[key] : undefined;
  if (step !== undefined) return enabledFrom(options, from + step, { backwards: (step < 0 && key !== 'Home') || key === 'End', from });
  if (typed === '') return from;
  // The same letter again goes to the next option that starts with it.
  const isRepeated = [...typed].every((letter) => letter === typed[0]);
  const wanted = (isRepeated ? (typed[0] ?? '') : typed).toLowerCase();
  const first = isRepeated ? from + 1 : from;
  for (let offset = 0; offset < options.length; offset += 1) {
    const position = (first + offset) % options.length;
    const option = options[position];
    if (option && !option.disabled && option.label.trim().toLowerCase().startsWith(wanted)) return position;
  }
  return from;
}

/** The nearest option that can be chosen, on in the direction; `from` where there is none. */
function enabledFrom(options: readonly LiveOption[], wanted: number, { backwards, from }: { backwards: boolean; from: number }): number {
  const start = Math.min(options.length - 1, Math.max(0, wanted));
  for (let at = start; options[at]; at += backwards ? -1 : 1) if (options[at]?.disabled === false) return at;
  return from;
}
