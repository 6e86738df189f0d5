/** Focuses the first visible button of a group. */
export function focusFirstButton(group: HTMLElement | null): void {
  [...(group?.querySelectorAll('button') ?? [])].find((button) => button.checkVisibility())?.focus();
}
