/** Whether shortcuts use Command, as on Apple devices. */
export const isMac = /^(Mac|iPhone|iPad)/.test(navigator.platform);
