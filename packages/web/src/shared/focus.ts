/** Takes the focus to the first button of a group that can be seen. */
export function focusFirstButton(group: HTMLElement | null): void {
  [...(group?.querySelectorAll('button') ?? [])].find((button) => button.checkVisibility())?.focus();
}
