import { type Command, CommanderError } from "commander";
import { Fault, faultFacts } from "../domain/fault.ts";
import { nearest } from "../domain/nearest.ts";
import { connectionFailure } from "../domain/unreachable.ts";

/** Exit codes. Those between 3 and 8 are as a rule what the code of a Fault says. */
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

/** What each of them means, as help shows it. */
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

/** What a command ends with in cases of its own, and which. Any command may end with 0, 1, 6 or 130. */
export type Ends = { readonly [Code in keyof typeof EXIT_MEANINGS]?: string };

const meantBy = <Code extends keyof typeof EXIT_MEANINGS>(...codes: Code[]): Ends =>
  Object.fromEntries(codes.map((code) => [code, EXIT_MEANINGS[code]]));

/** Of a command that reads files of the directory alone: it may name a tenant that is not there. */
export const READS_FILES = meantBy(EXIT.notFound);
/** Of a command that works at a tenant's database. */
export const USES_DATABASE = meantBy(EXIT.notFound, EXIT.unreachable);
/** Of a command that goes to a tenant's server or to its database. */
export const ASKS_TENANT = meantBy(EXIT.denied, EXIT.notFound, EXIT.unreachable);
export const NOT_CONFIRMED = "not confirmed: nothing was done";

/** What a process ends with. */
export type ExitCode = number;

export class Interrupted extends Error {
  override name = "Interrupted";

  constructor() {
    super("Interrupted: nothing was done");
  }
}

/** An error in the words of the command line. */
interface Failure {
  exit: ExitCode;
  code: string;
  /** For the operator; undefined when everything has been said already. */
  message: string | undefined;
}

/** What an error means for the process's end: the one place that decides exit codes. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Fault) return { exit: error.exitCode, code: error.code, message: error.message };
  if (error instanceof Interrupted) return { exit: EXIT.interrupted, code: "INTERRUPTED", message: error.message };
  if (error instanceof CommanderError) return usageFailure(error);
  // By name: importing the class would load the embedded database for every `--version`.
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

/** A schema's complaint fills a screen: the operator reads that there is one, and PMCTL_DEBUG shows the rest. */
function wordsOf({ name, message }: Error): string {
  return name.endsWith("ZodError") ? "a value is not what its schema says" : message;
}

/** Errors whose text does not say what the right usage is. */
const ASK_FOR_HELP = [
  "commander.missingArgument",
  "commander.missingMandatoryOptionValue",
  "commander.excessArguments",
];

/** Help and version end by an exception too; when help was shown for a missing verb, nothing is left to say. */
function usageFailure({ exitCode, code, message }: CommanderError): Failure {
  if (exitCode === 0) return { exit: EXIT.ok, code, message: undefined };
  const said = code === "commander.help";
  const tenant = code === "commander.excessArguments" ? " A tenant is named by -t TENANT" : "";
  const hint = tenant + (ASK_FOR_HELP.includes(code) ? "; --help shows the usage" : "");
  return { exit: EXIT.usage, code: "USAGE", message: said ? undefined : message.replace(/^error: /, "") + hint };
}

/** Words of other tools, and the commands that do this here. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  get: ["show", "market list", "user list"],
  describe: ["show", "market show"],
  ls: ["list", "market list"],
  find: ["search", "market search"],
  new: ["create", "market create"],
  add: ["create", "market create"],
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

/** Suggests a word that is near, or what other tools call so, and nothing otherwise. */
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
    meant ? `${lead}; did you mean ${meant}?` : `${lead}; pmctl ${noun ? `${first} ` : ""}--help shows those there are`,
  );
}

const STANDING = ["KYC_REQUIRED", "ACCOUNT_RESTRICTED", "JURISDICTION_BLOCKED", "SUITABILITY_REQUIRED"];

/** The id under which a server remembers why it refused; undefined for what has no rule behind it. */
function refusedRequest(error: unknown): string | undefined {
  if (!(error instanceof Fault) || (error.exitCode !== EXIT.domain && !STANDING.includes(error.code))) return undefined;
  const { requestId } = error.detail;
  return typeof requestId === "string" ? requestId : undefined;
}

/** What a command line was about, so that hints can be pasted as they are. */
export interface Subject {
  directory?: string | undefined;
  tenant?: string | undefined;
  user?: string | undefined;
  market?: string | undefined;
}

/** The command that most likely helps; undefined where none does, or it would need what the line did not name. */
function fixFor(error: unknown, subject: Subject): string | undefined {
  const next = error instanceof Fault ? faultFacts(error.code).next : undefined;
  const filled = next
    ?.replace("<user>", (place) => (subject.user === undefined ? place : shellWord(subject.user)))
    .replace("<market>", (place) => (subject.market === undefined ? place : shellWord(subject.market)));
  return filled === undefined || filled.includes("<") ? undefined : aimed(filled, subject);
}

/** The same commands for the tenant and the directory of the line before. */
function aimed(commands: string, { directory, tenant }: Subject): string {
  const options = [
    ...(directory === undefined ? [] : ["-C", shellWord(directory)]),
    ...(tenant === undefined ? [] : ["-t", shellWord(tenant)]),
  ];
  return commands.replaceAll("pmctl", () => ["pmctl", ...options].join(" "));
}

/** As a shell takes it for one word. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * An error as programs read it.
 * @param said the message, where it says more than the error does by itself
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
 * Where to look after an error, in lines for people: the request's id differs each time, and scripts compare what they
 * read.
 */
export function hintsFor(error: unknown, subject: Subject = {}): string {
  const request = refusedRequest(error);
  const fix = fixFor(error, subject);
  const why = request === undefined ? "" : `Why: ${aimed(`pmctl why ${request}`, subject)}\n`;
  return why + (fix === undefined ? "" : `Next: ${fix}\n`);
}

/** An error with its causes, for those who look for the bug behind it. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const detail = error instanceof Fault ? `\n${JSON.stringify(error.detail)}` : "";
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${detail}${cause}`;
}
