/** The command line as its parser knows it, made from the table of commands. */
import { Command } from 'commander';
import { commands, groups, type CommandSpec } from './commands.ts';
import { Context, type Action } from './context.ts';
import { describeFailure, exitCodes } from './failures.ts';
import { Options } from './options.ts';
import { Output, type Format } from './output.ts';
import { version } from './version.ts';

const epilogue = `
A target is a ref of \`berth snapshot\` (@e3), or a locator: CSS, text/Buy, aria/Search[role="textbox"], label/Email, xpath/…

Output is JSON where standard output is no terminal. --json and --plain choose, and so does BERTH_OUTPUT=json or text.
Exit codes: 0 done, 1 failed, 2 usage, 3 key, 4 not found, 5 step, 6 unreachable, 7 limit.`;

/** Adds what every command takes, before and after its name. */
function addCommonOptions(command: Command, hasShortS: boolean): void {
  command
    .option(hasShortS ? '-s, --session <name>' : '--session <name>', 'Session by name or id. Default: that of this folder.')
    .option('--json', 'Prints JSON.')
    .option('--plain', 'Prints text for people.');
}

export interface Runtime {
  /** The environment, which the entry point alone reads. */
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

/** Runs a command line and returns its exit code. */
export async function runCommandLine(words: readonly string[], runtime: Runtime, shared?: Output): Promise<number> {
  let exitCode: number = exitCodes.ok;
  if (words[0] === 'complete') {
    const { complete } = await import('./completion.ts');
    await complete(
      createProgram(() => Promise.resolve()),
      words,
    );
    return exitCodes.ok;
  }
  const program = createProgram(async (spec, values, args) => {
    exitCode = await runCommand({ spec, values, args, runtime, shared });
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (error) {
    const { code, exitCode: parserCode } = error as { code?: string; exitCode?: number };
    if (code?.startsWith('commander.') !== true) throw error;
    return parserCode === 0 ? exitCodes.ok : exitCodes.usage;
  }
  return exitCode;
}

type Handler = (spec: CommandSpec, values: Record<string, unknown>, args: readonly string[]) => Promise<void>;

export function createProgram(handle: Handler): Command {
  const program = new Command('berth')
    .description('Browsers in the cloud, from the command line')
    .version(version, '-v, --version')
    .enablePositionalOptions()
    .showHelpAfterError('(berth COMMAND --help has examples)')
    .exitOverride()
    .addHelpText('after', epilogue);
  addCommonOptions(program, true);
  for (const group of groups) {
    program.commandsGroup(`${group}:`);
    for (const spec of commands.filter((each) => each.group === group)) program.addCommand(toCommand(spec, program, handle));
  }
  return program;
}

function toCommand(spec: CommandSpec, program: Command, handle: Handler): Command {
  const command = new Command(spec.name)
    .description(spec.summary)
    .helpGroup(`${spec.group}:`)
    .aliases([...(spec.aliases ?? [])]);
  command.copyInheritedSettings(program);
  if (spec.args !== undefined) command.arguments(spec.args);
  for (const [flags, description] of spec.options ?? []) command.option(flags, description);
  addCommonOptions(command, spec.keepsShortS !== true);
  command.addHelpText('after', `\nExamples:\n${spec.examples.map((each) => `  ${each}`).join('\n')}`);
  return command.action(() => handle(spec, { ...program.opts(), ...command.opts() }, command.args));
}

interface Run {
  spec: CommandSpec;
  values: Record<string, unknown>;
  args: readonly string[];
  runtime: Runtime;
  shared: Output | undefined;
}

async function runCommand({ spec, values, args, runtime, shared }: Run): Promise<number> {
  const { stdout, stderr, signal, env } = runtime;
  const options = new Options({ ...values, noOpen: values['open'] === false });
  const output = shared ?? new Output(chooseFormat(options, runtime), { stdout, stderr });
  const run = (words: readonly string[], to: Output): Promise<number> => runCommandLine(words, runtime, to);
  try {
    const action: Action = await spec.load();
    await output.print(await action(new Context({ args, options, output, signal, env, run })));
    return exitCodes.ok;
  } catch (error) {
    const failure = describeFailure(signal.aborted ? signal.reason : error);
    output.fail(failure);
    return failure.exitCode;
  }
}

function chooseFormat(options: Options, { env, stdout }: Runtime): Format {
  if (options.flag('json')) return 'json';
  if (options.flag('plain')) return 'text';
  const wanted = env['BERTH_OUTPUT'];
  if (wanted === 'json' || wanted === 'text') return wanted;
  return stdout.isTTY ? 'text' : 'json';
}
