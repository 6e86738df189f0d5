/**
 * Entry point of this package: what it takes to run a browser.
 *
 * The process runtime uses it on the host. In a virtual machine the agent
 * (`main.ts`) uses it, controlled over the protocol of `@berth/contract/guest`.
 */
export { chromiumFlags, chromiumPolicyFile, chromiumPolicyPaths } from './browser/chromium-flags.ts';
export { Display, makeSharedFolder, NoDisplayError, removeStaleDisplaySockets, vncSocket } from './browser/display.ts';
export { displayPrograms, displaySize, initialDisplay, withDisplay } from './browser/display-start.ts';
export { withFolder } from './folder.ts';
export { MachineFiles, NoSuchFileError } from './agent/machine-files.ts';
export type { FileFolders, OpenFile } from './agent/machine-files.ts';
export { readOutOfMemoryKills } from './browser/processes.ts';
