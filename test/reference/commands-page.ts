import type { Argument, Option } from "commander";
import { EXIT_MEANINGS } from "../../src/cli/errors.ts";
import { examplesOf } from "../../src/cli/output/examples/examples.ts";
import { type Declared, declaredCommands } from "./declared.ts";
import { ASKING, type End, endsOf } from "./ends.ts";
import { printedFields } from "./fields.ts";
import { cell, code, NOTE, row, sentence, table } from "./markdown.ts";

const ABOUT = `Every command with its arguments, options, output fields, exit codes and examples. ${NOTE}

## Output

\`-o\` chooses the format: table, json, yaml, csv, tsv, ndjson or markdown. \`--fields\` picks among the fields of a command, which are listed with it. An optional field without a value is absent. In a list each item has the fields.

## Exit codes

Any command may end with 0, 1, 6 or 130, and each that asks a tenant also with 4, 5 or 9. What else a command ends with is listed with it. \`pmctl help CODE\` explains an [error code](errors.md).

`;

export async function commandsPage(): Promise<string> {
  const meanings = Object.entries(EXIT_MEANINGS).map(([exit, meaning]) => row(exit, cell(meaning)));
  const printed = new Map<string, string>();
  const sections = (await declaredCommands()).map((each) => commandSection(each, printed));
  return `# Commands\n\n${ABOUT}${table(["exit code", "meaning"], meanings)}\n\n${sections.join("\n\n")}\n`;
}

/** @param printed the commands by the fields that they print: several print the same */
function commandSection({ command, path, prints }: Declared, printed: Map<string, string>): string {
  const name = path.join(" ");
  const usage = ["pmctl", name, ...command.registeredArguments.map(argumentName)].join(" ");
  const described = [
    ...command.registeredArguments.map((argument) => row(code(argumentName(argument)), cell(argument.description))),
    ...command.options
      .filter(({ hidden }) => !hidden)
      .map((option) => row(code(option.flags), cell(withChoices(option)))),
  ];
  const examples = examplesOf(name, []).map(({ line }) => `pmctl ${line}`);
  const ends = endRows(endsOf(prints));
  return [
    `## pmctl ${name}`,
    sentence(`${cell(command.description())}.`),
    code(usage),
    ...(described.length === 0 ? [] : [table(["argument or option", "what it is"], described)]),
    ...(prints === null ? [] : [onceTold(name, printedFields(name, prints), printed)]),
    ...(ends.length === 0 ? [] : [table(["exit code", "when"], ends)]),
    ...(examples.length === 0 ? [] : [["```sh", ...examples, "```"].join("\n")]),
  ].join("\n\n");
}

function onceTold(name: string, fields: string, printed: Map<string, string>): string {
  const other = printed.get(fields);
  printed.set(fields, other ?? name);
  if (other === undefined) return fields;
  return `It prints the fields of [pmctl ${other}](#pmctl-${other.replaceAll(" ", "-")}).`;
}

/** What commands that ask a tenant have in common is said once for all. */
function endRows(ends: readonly End[]): string[] {
  const asks = ASKING.every((exit) => ends.some((end) => end.exit === exit));
  const own = asks ? ends.filter((end) => !isUsual(end)) : ends;
  const rows = own.map(({ exit, codes, when }) =>
    row(String(exit), [when ?? "", codesText(codes)].filter(Boolean).join("; ")),
  );
  return asks ? [row(ASKING.join(", "), "as of every command that asks a tenant"), ...rows] : rows;
}

const isUsual = ({ exit, when }: End): boolean =>
  ASKING.includes(exit) && (when === undefined || Object.values<string>(EXIT_MEANINGS).includes(when));

const codesText = (codes: readonly string[]): string => codes.map((each) => `\`${each}\``).join(", ");

const argumentName = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

function withChoices({ description, argChoices, defaultValue }: Option): string {
  const choices =
    argChoices && !argChoices.every((choice) => description.includes(choice)) ? ` (${codesText(argChoices)})` : "";
  const usual =
    defaultValue === undefined || Array.isArray(defaultValue) ? "" : ` (default: ${JSON.stringify(defaultValue)})`;
  return `${description}${choices}${usual}`;
}
