import type { Command } from "commander";
import { type PackageVersion, packageVersion, versionLine } from "../../config/package-version.ts";
import { REMEDIES } from "../../contract/fault-remedies.ts";
import { FAULT_CODES, Fault, type FaultCode, faultFacts, isFaultCode } from "../../domain/fault.ts";
import { nearest } from "../../domain/nearest.ts";
import type { CommandModule, Host, Io } from "../command.ts";
import { orDash } from "../output/cells.ts";
import { TOPICS } from "../output/help-topics.ts";
import type { View } from "../output/output.ts";

interface Page {
  /** A topic, or the words of a command. */
  topic: string;
  text: string;
}

/** An error code and what to expect of it. */
interface Refusal {
  code: FaultCode;
  /** Status of the HTTP answer. */
  status: number;
  /** Exit code of the command line. */
  exit: number;
  meaning: string;
  /** What ends it, for the caller or for the operator. */
  remedy: string;
  /** The command that most likely helps; `<user>` and `<market>` are those of the refused request. */
  next: string | null;
}

const refusalView: View<Refusal, Refusal> = {
  kind: "record",
  fields: ({ code, status, exit, meaning, remedy, next }) => [
    ["code", code],
    ["HTTP status", String(status)],
    ["exit code", String(exit)],
    ["meaning", meaning],
    ["remedy", remedy],
    ["next", orDash(next)],
  ],
};

const refusalsView: View<readonly Refusal[], Refusal> = {
  kind: "list",
  rows: (refusals) => refusals,
  columns: [
    { title: "CODE", cell: ({ code }) => code, whole: true },
    { title: "STATUS", cell: ({ status }) => String(status), align: "right" },
    { title: "EXIT", cell: ({ exit }) => String(exit), align: "right" },
    { title: "MEANING", cell: ({ meaning }) => meaning, wraps: true },
    { title: "NEXT", cell: ({ next }) => orDash(next), optional: true },
  ],
  empty: "There are no error codes.",
};

const view: View<Page, Page> = { kind: "text", text: ({ text }) => text };

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .argument("[words...]", `a command such as \`market settle\`, or one of: ${Object.keys(TOPICS).join(", ")}`)
      .description("explain a command or a topic"),
    { names: "topic text code status exit meaning remedy next", ends: { 5: "there is no help on that word" } },
    ({ args, io }) =>
      args[0] === "errors" ? runHelpErrors(args[1], io) : runHelp({ words: args }, noun.parent ?? noun, io),
  );
}

/** @throws Fault NOT_FOUND for an unknown code, naming the nearest one */
export async function runHelpErrors(code: string | undefined, { output }: Io): Promise<void> {
  if (code === undefined) return output.print(FAULT_CODES.map(refusalOf), refusalsView);
  const asked = code.toUpperCase();
  if (isFaultCode(asked)) return output.print(refusalOf(asked), refusalView);
  const meant = nearest(asked, FAULT_CODES);
  const hint = meant === undefined ? "pmctl help errors lists them" : `did you mean ${meant}?`;
  throw new Fault("NOT_FOUND", `There is no error code ${JSON.stringify(code)}; ${hint}`);
}

function refusalOf(code: FaultCode): Refusal {
  const { status, exit, meaning, next = null } = faultFacts(code);
  return { code, status, exit, meaning, remedy: REMEDIES[code], next };
}

/** @throws Fault NOT_FOUND for a word that is neither a topic nor a command */
export async function runHelp(
  { words }: { words: readonly string[] },
  program: Command,
  { output }: Io,
): Promise<void> {
  const topic = words.join(" ");
  await output.print({ topic, text: TOPICS[topic]?.text() ?? helpOf(findCommand(program, words)) }, view);
}

/** The text that `--help` prints. */
function helpOf(command: Command): string {
  let text = "";
  const printed = command.configureOutput();
  command.configureOutput({
    writeOut: (more) => {
      text += more;
    },
  });
  command.outputHelp();
  command.configureOutput(printed);
  return text.trimEnd();
}

function findCommand(program: Command, words: readonly string[]): Command {
  return words.reduce((command, word) => {
    const found = command.commands.find((each) => each.name() === word);
    if (found) return found;
    const names = [...command.commands.map((each) => each.name()), ...(command === program ? Object.keys(TOPICS) : [])];
    const meant = nearest(word, names);
    const hint = meant === undefined ? `there is on: ${names.join(", ")}` : `did you mean ${meant}?`;
    throw new Fault("NOT_FOUND", `There is no help on ${JSON.stringify(word)}; ${hint}`);
  }, program);
}

interface Version extends PackageVersion {
  node: string;
}

const versionView: View<Version, Version> = { kind: "text", text: versionLine };

export const version: CommandModule = {
  register: (noun, host) =>
    host.add(noun, { names: "version commit node", ends: {} }, ({ io }) =>
      io.output.print({ ...packageVersion(), node: process.versions.node }, versionView),
    ),
};
