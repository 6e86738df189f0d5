/** Opens an address in the person's own browser. */
import { spawn } from 'node:child_process';

const programs: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** The link was printed, so a machine without a desktop loses nothing. */
export function openInBrowser(url: string): void {
  // Programs that open addresses start others for other schemes.
  if (!/^https?:\/\//.test(url)) return;
  const [program = '', ...args] = programs[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
