import type { Argument, Command, Option } from "commander";

/** What may stand somewhere: fixed words, or something that the shell looks up. */
export type Values = readonly string[] | "tenants" | "files" | "nothing";

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
  const verbs = command.commands.map((verb) => ({ name: verb.name(), description: verb.description() }));
  const options = command.options.map(completedOption);
  return [
    {
      path,
      verbs,
      options: path === "" ? [...options, HELP] : options,
      arguments: command.registeredArguments.map((argument) => ({
        values: valuesOf(argument, argument.name()),
        variadic: argument.variadic,
      })),
    },
    ...command.commands.flatMap((verb) => completedCommands(verb, `${path} ${verb.name()}`.trim())),
  ];
}

function completedOption(option: Option): CompletedOption {
  const { short, long, description, required, optional } = option;
  const flags = [long, short].filter((flag) => typeof flag === "string");
  return { flags, description, values: required || optional ? valuesOf(option, option.name()) : undefined };
}

/** By the name that an option or argument has everywhere: for an amount there is nothing to look up. */
function valuesOf({ argChoices }: Pick<Option | Argument, "argChoices">, name: string): Values {
  if (argChoices) return argChoices;
  if (/^tenants?$/.test(name)) return "tenants";
  return /^(file|out|body|dir)$/.test(name) ? "files" : "nothing";
}
