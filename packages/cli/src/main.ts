#!/usr/bin/env node
/** Entry point of the program `berth`. */
import { runCommandLine } from './program.ts';

const stop = new AbortController();
// The second Ctrl+C ends the program without waiting.
process.once('SIGINT', () => stop.abort(new DOMException('Interrupted.', 'AbortError')));
process.once('SIGTERM', () => stop.abort(new DOMException('Interrupted.', 'AbortError')));
// The terminal was closed.
process.once('SIGHUP', () => stop.abort(new DOMException('Interrupted.', 'AbortError')));
// A reader that has gone, such as `head`, wants nothing more, and that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
// Who does not read what is told beside the output still wants the work done.
process.stderr.on('error', () => {});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  signal: stop.signal,
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
});
// Connections that are kept for another call would hold the program.
process.exit();
