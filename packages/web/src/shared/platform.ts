/** Whether shortcuts are made with Command, as on a Mac, an iPhone and an iPad. */
export const isMac = /^(Mac|iPhone|iPad)/.test(navigator.platform);
