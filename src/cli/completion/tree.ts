import type { Argument, Command, Option } from "commander";
import type { ValueKind } from "./values.ts";

/** What may stand somewhere: fixed words, or something that the shell looks up. */
export type Values = readonly string[] | { live: ValueKind } | "files" | "nothing";

export interface CompletedOption {
  /** The long one first. */
  flags: string[];
  description: string;
  /** Undefined for an option that takes no value. */
  values: Values | undefined;
}

/** One command as completion sees it. */
export interface CompletedCommand {
  /** The words that lead to it, such as `market settle`; empty for the program itself. */
  path: string;
  verbs: { name: string; description: string }[];
  /** The program's own are the global ones. */
  options: CompletedOption[];
  arguments: { values: Values; variadic: boolean }[];
}

const HELP: CompletedOption = { flags: ["--help", "-h"], description: "show help", values: undefined };

/** The program and every command below it, flat. */
export function completedCommands(command: Command, path = ""): CompletedCommand[] {
  const named = command.commands.flatMap((verb) => [verb.name(), ...verb.aliases()].map((name) => ({ verb, name })));
  const verbs = named.map(({ verb, name }) => ({ name, description: verb.description() }));
  const options = command.options.map((option) => completedOption(option, path));
  return [
    {
      path,
      verbs,
      options: path === "" ? [...options, HELP] : options,
      arguments: command.registeredArguments.map((argument) => ({
        values: valuesOf(argument, argument.name(), path),
        variadic: argument.variadic,
      })),
    },
    ...named.flatMap(({ verb, name }) => completedCommands(verb, `${path} ${name}`.trim())),
  ];
}

function completedOption(option: Option, path: string): CompletedOption {
  const { short, long, description, required, optional } = option;
  const flags = [long, short].filter((flag) => typeof flag === "string");
  return { flags, description, values: required || optional ? valuesOf(option, option.name(), path) : undefined };
}

/** By the name that an option or argument has everywhere: for an amount there is nothing to look up. */
function valuesOf({ argChoices }: Pick<Option | Argument, "argChoices">, name: string, path: string): Values {
  if (argChoices) return argChoices;
  const live = LIVE.find(([at]) => at.test(`${path} ${name}`));
  if (live) return { live: live[1] };
  return /^(file|out|body|dir|directory)$/.test(name) ? "files" : "nothing";
}

/** What is looked up when it is completed, by a command's path and the name of its option or argument. */
const LIVE: readonly (readonly [RegExp, ValueKind])[] = [
  [/ tenants?$/, "tenants"],
  [/^market .*\bid$|^(?!market create).* market$/, "markets"],
  [/^user .*\b(id|user)$| user$/, "users"],
  [/^key \w+ name$|^ key$/, "keys"],
  [/^policy set key=value$/, "policy"],
  [/^webhook send event$/, "events"],
];
