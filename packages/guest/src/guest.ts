/**
 * What it takes to run a browser, wherever it runs: the one door of this package.
 *
 * The process runtime uses it beside the browser, on the host. In a virtual
 * machine the agent (`main.ts`) uses it, and is told what to do over the
 * protocol of `@berth/contract/guest`.
 */
export { chromiumFlags } from './chromium-flags.ts';
export { Display, makeSharedFolder, NoDisplay, removeDisplayRemains, vncSocket } from './display.ts';
export { displayPrograms, displaySize, initialDisplay, withDisplay } from './display-start.ts';
export { within } from './folder.ts';
export { MachineFiles, NoSuchFile } from './machine-files.ts';
export type { FileFolders, OpenFile } from './machine-files.ts';
export { readOutOfMemoryKills } from './processes.ts';
