import { type Command, CommanderError } from "commander";
import { Fault } from "../domain/fault.ts";
import { nearest } from "../domain/nearest.ts";
import { shellWord } from "../domain/text.ts";
import { connectionFailure } from "../domain/unreachable.ts";

/** Exit codes. A Fault's code decides those between 3 and 8, as a rule. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  planned: 2,
  refused: 3,
  denied: 4,
  notFound: 5,
  usage: 6,
  domain: 7,
  integrity: 8,
  unreachable: 9,
  partly: 10,
  interrupted: 130,
} as const;

/** The meanings of the exit codes, for the help. */
export const EXIT_MEANINGS: Readonly<Record<(typeof EXIT)[keyof typeof EXIT], string>> = {
  0: "done, or nothing to do",
  1: "unexpected error; of `doctor`: a check failed",
  2: "changes are planned (`plan --detailed-exitcode` only)",
  3: "refused: drift, conflict or a stale plan; nothing was written",
  4: "not authenticated or not allowed",
  5: "not found",
  6: "bad usage, invalid file, or input needed without a terminal",
  7: "the domain refused: closed, over a limit, expectation not met",
  8: "INTEGRITY: chain broken or ledger discrepancy; page on this one",
  9: "unreachable, timed out, or still rate limited",
  10: "done for some tenants only",
  130: "interrupted",
};

/** A command's own exit codes and their meanings. Any command may also end with 0, 1, 6 or 130. */
export type Ends = { readonly [Code in keyof typeof EXIT_MEANINGS]?: string };

const meantBy = <Code extends keyof typeof EXIT_MEANINGS>(...codes: Code[]): Ends =>
  Object.fromEntries(codes.map((code) => [code, EXIT_MEANINGS[code]]));

/** For a command that reads only files of the directory: its line may name an unknown tenant. */
export const READS_FILES = meantBy(EXIT.notFound);
/** For a command that works at a tenant's database. */
export const USES_DATABASE = meantBy(EXIT.notFound, EXIT.unreachable);
/** For a command that goes to a tenant's server or to its database. */
export const ASKS_TENANT = meantBy(EXIT.denied, EXIT.notFound, EXIT.unreachable);
export const NOT_CONFIRMED = "not confirmed: nothing was done";

/** The exit code of a process. */
export type ExitCode = number;

export class Interrupted extends Error {
  override name = "Interrupted";

  constructor() {
    super("Interrupted: nothing was done");
  }
}

/** An error as the command line reports it. */
interface Failure {
  exit: ExitCode;
  code: string;
  /** For the operator; undefined when the command has printed everything already. */
  message: string | undefined;
}

/** Maps an error to the process's end: the one place that decides exit codes. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Fault) return { exit: error.exitCode, code: error.code, message: error.message };
  if (error instanceof Interrupted) return { exit: EXIT.interrupted, code: "INTERRUPTED", message: error.message };
  if (error instanceof CommanderError) return usageFailure(error);
  // Compares the name, because importing the class would load the embedded database for every `--version`.
  if (error instanceof Error && error.name === "ClusterError")
    return { exit: EXIT.unreachable, code: "DATABASE_UNAVAILABLE", message: error.message };
  const text = error instanceof Error ? wordsOf(error) : String(error);
  const failure = connectionFailure(error);
  if (failure === "never made")
    return { exit: EXIT.unreachable, code: "DATABASE_UNAVAILABLE", message: `The database cannot be reached: ${text}` };
  if (failure === "ended")
    return { exit: EXIT.unreachable, code: "OUTCOME_UNKNOWN", message: `The database ended the connection: ${text}` };
  return { exit: EXIT.unexpected, code: "INTERNAL", message: `unexpected error: ${text} (PMCTL_DEBUG=1 shows where)` };
}

/** A schema's error fills a screen, so the operator gets one line, and PMCTL_DEBUG shows the rest. */
function wordsOf({ name, message }: Error): string {
  return name.endsWith("ZodError") ? "a value does not match its schema" : message;
}

/** Errors whose text does not show the right usage. */
const ASK_FOR_HELP = [
  "commander.missingArgument",
  "commander.missingMandatoryOptionValue",
  "commander.excessArguments",
];

/** Commander ends help and version by an exception too. After help for a missing verb nothing is left to print. */
function usageFailure({ exitCode, code, message }: CommanderError): Failure {
  if (exitCode === 0) return { exit: EXIT.ok, code, message: undefined };
  const said = code === "commander.help";
  const tenant = code === "commander.excessArguments" ? " Name a tenant with -t TENANT" : "";
  const hint = tenant + (ASK_FOR_HELP.includes(code) ? "; --help shows the usage" : "");
  return { exit: EXIT.usage, code: "USAGE", message: said ? undefined : message.replace(/^error: /, "") + hint };
}

/** Words of other tools, with the commands for the same work here. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  get: ["show", "market list", "user list"],
  describe: ["show", "market show"],
  ls: ["list", "market list"],
  find: ["search", "market search"],
  new: ["create", "market create"],
  add: ["create", "market create"],
  close: ["suspend", "settle", "market suspend", "market settle"],
  delete: ["revoke", "reject"],
  remove: ["revoke", "reject"],
  login: ["key list"],
  start: ["serve", "demo"],
  run: ["serve", "demo"],
  bet: ["trade buy"],
  deposit: ["funding credit"],
  export: ["audit export", "db backup"],
};

export function isUnknownCommand(error: unknown): boolean {
  return error instanceof CommanderError && error.code === "commander.unknownCommand";
}

/** Suggests a word that is near, or the command for another tool's word; nothing otherwise. */
export function unknownCommand(program: Command, argv: readonly string[]): Fault {
  const [first = "", second = ""] = program.parseOptions([...argv]).operands;
  const noun = program.commands.find((command) => command.name() === first);
  const [word, known] = noun
    ? [second, noun.commands.map((verb) => verb.name())]
    : [first, program.commands.map((command) => command.name())];
  const elsewhere = (ELSEWHERE[word] ?? []).filter((words) =>
    noun ? known.includes(words) : known.includes(words.split(" ")[0] ?? ""),
  );
  const meant = Object.hasOwn(ELSEWHERE, word) ? elsewhere.join(" or ") : nearest(word, known);
  const lead = noun ? `pmctl ${first} has no command ${word}` : `There is no command ${word}`;
  return new Fault(
    "USAGE",
    meant ? `${lead}; did you mean ${meant}?` : `${lead}; pmctl ${noun ? `${first} ` : ""}--help lists the commands`,
  );
}

const STANDING = [
  "KYC_REQUIRED",
  "ACCOUNT_RESTRICTED",
  "JURISDICTION_UNKNOWN",
  "JURISDICTION_BLOCKED",
  "SUITABILITY_REQUIRED",
];

/** The id under which a server remembers the reason for refusing; undefined where no rule refused. */
function refusedRequest(error: unknown): string | undefined {
  if (!(error instanceof Fault) || (error.exitCode !== EXIT.domain && !STANDING.includes(error.code))) return undefined;
  const { requestId } = error.detail;
  return typeof requestId === "string" ? requestId : undefined;
}

/** The tenant, directory, user and market of a command line, so that hints can be pasted as they are. */
export interface Subject {
  directory?: string | undefined;
  tenant?: string | undefined;
  user?: string | undefined;
  market?: string | undefined;
}

/** The command that most likely helps; undefined without one, or where the line lacks a name that it needs. */
function fixFor(error: unknown, subject: Subject): string | undefined {
  const next = error instanceof Fault ? error.next : undefined;
  const filled = next
    ?.replace("<user>", (place) => (subject.user === undefined ? place : shellWord(subject.user)))
    .replace("<market>", (place) => (subject.market === undefined ? place : shellWord(subject.market)));
  return filled === undefined || filled.includes("<") ? undefined : aimed(filled, subject);
}

/** The same commands for the tenant and the directory of a line. */
export function aimed(commands: string, { directory, tenant }: Subject): string {
  const options = [
    ...(directory === undefined ? [] : ["-C", shellWord(directory)]),
    ...(tenant === undefined ? [] : ["-t", shellWord(tenant)]),
  ];
  return commands.replaceAll(/(?<=^|; )pmctl(?= )/g, () => ["pmctl", ...options].join(" "));
}

/**
 * An error in the form for programs.
 * @param said the message, where it says more than the error's own
 */
export function errorRecord(error: unknown, subject: Subject = {}, said?: string) {
  const { code, message, exit } = failureOf(error);
  const { requestId } = error instanceof Fault ? error.detail : {};
  return {
    error: said ?? message,
    code,
    requestId: typeof requestId === "string" ? requestId : null,
    exit,
    fix: fixFor(error, subject) ?? null,
  };
}

/**
 * Hints after an error, in lines for people only: the request's id differs each time, and scripts compare what they
 * read.
 */
export function hintsFor(error: unknown, subject: Subject = {}): string {
  const request = refusedRequest(error);
  const fix = fixFor(error, subject);
  const why = request === undefined ? "" : `Why: ${aimed(`pmctl why ${request}`, subject)}\n`;
  return why + (fix === undefined ? "" : `Next: ${fix}\n`);
}

/** An error with its causes, for debugging. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const detail = error instanceof Fault ? `\n${JSON.stringify(error.detail)}` : "";
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${detail}${cause}`;
}
