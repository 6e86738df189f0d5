/** Attributes of a box that scrolls: with the focus in it, the arrow keys scroll it. */
export const scrollable = (label: string) => ({ tabIndex: 0, role: 'region', 'aria-label': label }) as const;
