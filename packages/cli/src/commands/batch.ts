/** Runs several command lines in one process: one connection, one start. */
import type { Action } from '../context.ts';
import { CommandError, exitCodes, usageError } from '../failures.ts';
import { readStdin } from './read.ts';

/** The most commands of one batch: a list that never ends is a program’s, and a program has the client. */
const commandsMax = 500;

export const batch: Action = async (context) => {
  const commands = context.args.length > 0 ? context.args.map(splitWords) : parseCommands(await readStdin());
  if (commands.length > commandsMax) throw usageError(`A batch has at most ${commandsMax} commands, not ${commands.length}.`);
  const session = context.sessionName;
  let failures = 0;
  for (const words of commands) {
    if (words[0] === 'batch' || words[0] === 'forward' || words[0] === 'tunnel' || words[0] === 'up')
      throw usageError(`${words[0]} has no place in a batch.`);
    const named = session === undefined || words.some((word) => word === '--session') ? words : [...words, '--session', session];
    const exitCode = await context.run(named, context.output);
    if (exitCode === exitCodes.ok) continue;
    failures++;
    if (context.options.flag('bail') || context.signal.aborted) break;
  }
  if (failures > 0) throw new CommandError(exitCodes.step, 'batch_failed', `${failures} of ${commands.length} commands failed.`);
  return undefined;
};

/** A JSON list of command lines, each a list of words or one text; or a command a line. */
function parseCommands(text: string): string[][] {
  if (!text.trimStart().startsWith('[')) {
    const lines = text.split('\n').map((line) => line.trim());
    return lines.filter((line) => line !== '' && !line.startsWith('#')).map(splitWords);
  }
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    throw usageError('The batch is not JSON.', `echo '[["open","shop.example"],["snapshot","-i"]]' | berth batch`);
  }
  return (list as unknown[]).map((item) => {
    if (typeof item === 'string') return splitWords(item);
    if (Array.isArray(item) && item.every((word) => typeof word === 'string')) return item;
    throw usageError('Each command of a batch is a text or a list of texts.');
  });
}

/** Splits a command line into words as a shell does, without running anything: quotes and backslashes, nothing else. */
function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let index = 0; index < line.length; index++) {
    const char = line[index] ?? '';
    if (quote !== undefined) {
      if (char === quote) quote = undefined;
      else if (char === '\\' && quote === '"' && /["\\]/.test(line[index + 1] ?? '')) word += line[++index] ?? '';
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (char === '\\' && index + 1 < line.length) word = (word ?? '') + (line[++index] ?? '');
    else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== undefined) throw usageError(`A quote is not closed: ${line}`);
  return word === undefined ? words : [...words, word];
}
