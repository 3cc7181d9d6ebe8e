import type { Readable, Writable } from "node:stream";
import { type Argument, Command, Help } from "commander";
import { allowExec, colorIsOff, isCi, processEnvironment, usualFormat } from "../config/environment.ts";
import { packageVersion, versionLine } from "../config/package-version.ts";
import { takeDirectory } from "../config/selection/operator-directory.ts";
import { Fault } from "../domain/fault.ts";
import type { Action, CommandContext, Globals, Host } from "./command.ts";
import { EXIT, type ExitCode, isUnknownCommand, type Subject, unknownCommand } from "./errors.ts";
import { globalOptions } from "./input/global-options.ts";
import { Interrupts } from "./input/interrupts.ts";
import { relativeTimesOf } from "./input/parsers.ts";
import { terminalPrompts } from "./input/prompts.ts";
import { asksEach, eachOptions, namedTenant } from "./input/selector-option.ts";
import { isAnnotationFormat } from "./output/annotations.ts";
import { examplesHelp } from "./output/examples/examples.ts";
import { BEGIN, HELP_END, topicList, unknownVerb } from "./output/help-topics.ts";
import { Output, type OutputOptions } from "./output/output.ts";
import { type Pager, terminalPager } from "./output/pager.ts";
import type { Prints } from "./output/prints.ts";
import { FORMATS, isFormat } from "./output/serialise.ts";
import { sanitizeText } from "./output/text-width.ts";
import { helpGroupOf, NOUNS, type Noun } from "./registry.ts";
import { keepThreadPoolAwake } from "./thread-pool.ts";

/** The streams of a command; the process's own unless a test passes others. */
export interface Streams {
  stdin: Readable & { isTTY?: boolean | undefined };
  stdout: Writable & { isTTY?: boolean | undefined; columns?: number | undefined; rows?: number | undefined };
  stderr: Writable & { isTTY?: boolean | undefined; columns?: number | undefined };
}

/**
 * Runs one command line and resolves to the exit code. Throws nothing: errors are printed on stderr and decide the
 * code. The caller flushes and ends the process.
 *
 * @param argv the words after the program's name
 */
export async function main(
  argv: readonly string[],
  streams: Streams = process,
  interrupts: Interrupts = new Interrupts(),
): Promise<ExitCode> {
  const host = new CommandHost(streams, interrupts);
  const program = createProgram(streams);
  const letThreadPoolSleep = keepThreadPoolAwake();
  try {
    for (const noun of NOUNS) await addNoun(program, noun, argv, host);
    // Registered before the commands' own hooks, since one of them replaces the process.
    program.hook("preAction", async (_, command) => {
      const options = command.optsWithGlobals<Globals>();
      takeDirectory(options.directory);
      requireFormat(options);
      await host.requireFields(command);
      await host.requireRepeatable(command);
    });
    // Before commander parses, because `--fields ?` may come without the command's required arguments.
    const asked = commandAskedAbout(program, argv);
    if (asked) {
      outputFor(program.opts<Globals>(), streams).list(await host.fieldsOf(asked));
      return EXIT.ok;
    }
    await program.parseAsync([...argv], { from: "user" });
    return host.exitCode;
  } catch (error) {
    const told = isUnknownCommand(error) ? unknownCommand(program, argv) : error;
    return outputFor(program.opts<Globals>(), streams, { subject: host.subject }).fail(told);
  } finally {
    letThreadPoolSleep();
  }
}

/** The program with all commands loaded, for tests that walk them. */
export async function completeProgram(streams: Streams = process): Promise<Command> {
  return new CommandHost(streams, new Interrupts()).wholeProgram();
}

/** Lists a noun in the help, and loads its module only when the line names it. */
async function addNoun(program: Command, noun: Noun, argv: readonly string[], host: Host): Promise<void> {
  const [name, summary, load] = noun;
  const command = program
    .command(name)
    .description(summary)
    .helpGroup(helpGroupOf(name) ?? "Commands:");
  if (argv.includes(name)) (await load()).register(command, host);
}

class CommandHost implements Host {
  exitCode: ExitCode = EXIT.ok;
  /** The subject of the command that began; empty if none began. */
  subject: Subject = {};
  readonly #streams: Streams;
  readonly #interrupts: Interrupts;
  readonly #printed = new Map<Command, Prints>();

  constructor(streams: Streams, interrupts: Interrupts) {
    this.#streams = streams;
    this.#interrupts = interrupts;
  }

  add<Options extends object>(command: Command, prints: Prints | null, work: Action<Options>): void {
    if (prints) this.#printed.set(command, prints);
    const relativeTimes = relativeTimesOf(command);
    command.action(async () => {
      this.#interrupts.listen();
      const named = namedTenant(command);
      const options = {
        ...command.optsWithGlobals<Globals & Options>(),
        ...(named !== undefined && { tenant: named }),
        commandName: pathOf(command),
        relativeTimes,
      };
      const { stdin, stderr } = this.#streams;
      if (options.allowExec) allowExec();
      this.subject = subjectOf(command);
      const outputOptions = outputOptionsOf(options, this.#streams, {
        pager: terminalPager(this.#interrupts),
        subject: this.subject,
      });
      const context: CommandContext<Options> = {
        options,
        args: named === undefined ? command.args : command.args.slice(1),
        io: {
          output: new Output(outputOptions),
          prompts: terminalPrompts({ stdin, stderr, allowed: options.input && !isCi() }),
        },
        interrupts: this.#interrupts,
      };
      const run = asksEach(command, options) ? await severally(prints, outputOptions, work) : work;
      const exit = await run(context);
      this.exitCode = typeof exit === "number" ? exit : this.#interrupts.exitCode;
    });
  }

  async wholeProgram(): Promise<Command> {
    const program = createProgram(this.#streams);
    for (const noun of NOUNS) await addNoun(program, noun, [noun[0]], this);
    return program;
  }

  /**
   * The names that `--fields` takes for a command, without running it: asking for them must change nothing.
   *
   * @throws Fault USAGE for a command that prints no data
   */
  async fieldsOf(command: Command): Promise<string[]> {
    const { fieldsOf } = await import("./output/fields.ts");
    return fieldsOf(this.#printsOf(command), eachOptions(command));
  }

  /** @throws Fault USAGE when `--fields` names a field that is never printed, or `-o` a format of other commands */
  async requireFields(command: Command): Promise<void> {
    const { fields, output } = command.optsWithGlobals<Globals>();
    if (isAnnotationFormat(output) && !this.#annotates(command))
      throw new Fault("USAGE", `-o ${output} prints problems of files, and pmctl ${pathOf(command)} reads none`);
    if (fields === undefined) return;
    const { requireFields } = await import("./output/fields.ts");
    requireFields(this.#printsOf(command), fields, eachOptions(command));
  }

  /** @throws Fault USAGE for `--idempotency-key` when a repeat of the command would not get the first result */
  async requireRepeatable(command: Command): Promise<void> {
    if (command.optsWithGlobals<Globals>().idempotencyKey === undefined) return;
    const { isRepeatable } = await import("./output/prints.ts");
    if (isRepeatable(this.#printed.get(command))) return;
    throw new Fault("USAGE", `pmctl ${pathOf(command)} keeps no first result to repeat: leave out --idempotency-key`);
  }

  #annotates(command: Command): boolean {
    const prints = this.#printed.get(command);
    return prints !== undefined && "names" in prints && prints.annotates === true;
  }

  #printsOf(command: Command): Prints {
    const prints = this.#printed.get(command);
    if (prints) return prints;
    throw new Fault("USAGE", `pmctl ${pathOf(command)} prints no data, so there are no fields to choose from`);
  }
}

/** The command that `--fields ?` asks about; undefined for other lines, and for a noun without its verb. */
function commandAskedAbout(program: Command, argv: readonly string[]): Command | undefined {
  if (!argv.some((word) => word.includes("?"))) return undefined;
  const { operands } = program.parseOptions([...argv]);
  if (!program.opts<Globals>().fields?.includes("?")) return undefined;
  const [noun, verb] = operands;
  const command = program.commands.find((each) => each.name() === noun);
  // A noun with arguments also runs without a verb.
  const isRunnable = command && (command.commands.length === 0 || command.registeredArguments.length > 0);
  return (
    command?.commands.find((each) => each.name() === verb || each.aliases().includes(verb ?? "")) ??
    (isRunnable ? command : undefined)
  );
}

/** The command's words, such as `market list`, without the program's own name; empty for the program itself. */
function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : "";
}

function verbsOf(command: Command): string[] {
  return command.commands.map((verb) => verb.name());
}

/** Runs the work for each tenant of the line. Loaded on demand, because it needs the table of operations. */
async function severally<Options extends object>(
  prints: Prints | null,
  outputOptions: OutputOptions,
  work: Action<Options>,
): Promise<Action<Options>> {
  const { forEachTenant } = await import("./input/tenants.ts");
  return (context) => forEachTenant(context, prints, outputOptions, work);
}

/** The subject of the line, from its options or from the argument of the noun. */
function subjectOf(command: Command): Subject {
  const { directory, tenant, user, market } = command.optsWithGlobals<Subject>();
  const [noun] = pathOf(command).split(" ");
  const [named] = command.args;
  return {
    directory,
    tenant,
    user: user ?? (noun === "user" ? named : undefined),
    market: market ?? (noun === "market" ? named : undefined),
  };
}

function outputFor(...given: Parameters<typeof outputOptionsOf>): Output {
  return new Output(outputOptionsOf(...given));
}

function outputOptionsOf(
  options: Partial<Globals>,
  { stdout, stderr }: Streams,
  { pager, subject }: { pager?: Pager; subject?: Subject } = {},
): OutputOptions {
  return {
    stdout,
    stderr,
    subject,
    pager: options.pager === false ? undefined : pager,
    format: options.output,
    fields: options.fields,
    quiet: options.quiet,
    color: options.color !== false && !colorIsOff(),
    debug: Boolean(processEnvironment().PMCTL_DEBUG),
  };
}

function createProgram({ stdout, stderr }: Streams): Command {
  const globals = globalOptions();
  const usualHelp = new Help();
  const showsAll = () => program.opts<Globals>().all === true;
  const program = new Command("pmctl");
  program
    .description("Provision and run prediction markets from YAML under version control.")
    .usage("<command> [options]")
    .version(versionLine(packageVersion()), "--version", "print version and commit")
    .helpOption("-h, --help", "show help")
    .addHelpText("before", `${BEGIN}\n`)
    .addHelpText("beforeAll", ({ command }) => unknownVerb(command))
    .addHelpText("after", topicList())
    .addHelpText("afterAll", HELP_END)
    .addHelpText("afterAll", ({ command }) => examplesHelp(pathOf(command), verbsOf(command)))
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      // Few of them matter to a command, and they would stand above what does.
      visibleGlobalOptions: (command) => (command !== program && showsAll() ? globals : []),
      visibleOptions: (command) =>
        usualHelp.visibleOptions(command).filter((option) => showsAll() || !globals.includes(option)),
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(argumentTerm)].join(" "),
    })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(sanitizeText(text)),
      // Output prints the error in the format of the line.
      outputError: () => {},
      getOutHelpWidth: () => (stdout.isTTY ? (stdout.columns ?? 80) : 100),
      getErrHelpWidth: () => 100,
    });
  for (const option of globals) program.addOption(option);
  const usual = usualFormat();
  if (usual !== undefined && isFormat(usual)) program.setOptionValueWithSource("output", usual, "env");
  return program;
}

/** `[file]` is optional and `<file>` is required. */
function argumentTerm(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}

/** @throws Fault USAGE when `PMCTL_OUTPUT` alone names the format, and no such format exists */
function requireFormat({ output }: Globals): void {
  const usual = usualFormat();
  if (output === undefined && usual !== undefined)
    throw new Fault("USAGE", `PMCTL_OUTPUT must be one of ${FORMATS.join(", ")} (got ${JSON.stringify(usual)})`);
}
