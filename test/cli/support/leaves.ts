import type { Command } from "commander";

/** What an option or argument is given when a command cannot do without. */
const VALUES: Record<string, string> = {
  amount: "5",
  to: "1",
  seq: "1",
  answers: '{"q1": 3}',
  "key=value": "feeBps=90",
  outcome: "yes",
};

/** These serve until they are told to stop, which is what they are for. */
export const LONG_RUNNING = ["serve", "up", "demo", "docs", "market watch"];

/** These hand the process's own streams on to a program. */
export const NEEDS_STREAMS = ["db shell"];

/** A command, as a line names it. */
export interface Leaf {
  path: string[];
  /** The path with everything that the command cannot do without. */
  line: string[];
  /** The long names of its own options. */
  options: string[];
}

/** Every command of a program. */
export function leavesOf(command: Command, path: string[] = []): Leaf[] {
  if (command.commands.length > 0) return command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]));
  const options = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap((option) => [option.long ?? "", valueFor(option.attributeName(), option.argChoices)]);
  const args = command.registeredArguments
    .filter(({ required }) => required)
    .map((argument) => valueFor(argument.name(), argument.argChoices));
  return [{ path, line: [...path, ...args, ...options], options: command.options.map(({ long }) => long ?? "") }];
}

function valueFor(name: string, choices: readonly string[] | undefined): string {
  return VALUES[name] ?? choices?.[0] ?? "x";
}
