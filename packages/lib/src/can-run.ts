import { accessSync, constants } from 'node:fs';

/** Whether a path is that of an executable file. */
export function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
