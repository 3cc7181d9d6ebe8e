import type { Argument, Command, Option } from "commander";
import { schemaDocument } from "../../src/app/schema-documents.ts";
import { EXIT_MEANINGS } from "../../src/cli/errors.ts";
import { examplesOf } from "../../src/cli/output/examples/examples.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { FILES, type FileKey, keysOf } from "../../src/config/schema/schema-keys.ts";
import { FAULT_CODES, faultFacts } from "../../src/domain/fault.ts";

/** Text as a cell of a Markdown table holds it. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ").replaceAll("<", "&lt;");
const code = (text: string): string => (text === "" ? "" : `\`${text.replaceAll("|", "\\|")}\``);
const row = (...cells: string[]): string => `| ${cells.join(" | ")} |`;
const table = (titles: string[], rows: readonly string[]): string =>
  [row(...titles), row(...titles.map(() => "---")), ...rows].join("\n");

const NOTE = "This page is made from the code: `npm run docs:reference` writes it, and a test compares it.";

const TITLES: Readonly<Record<string, [title: string, about: string]>> = {
  tenant: ["Tenant file", "Keys of `tenants/NAME/tenant.yaml`."],
  market: ["Market file", "Keys of a market in `tenants/NAME/markets/*.yaml`."],
  case: ["Cases", "Keys of a case in `tenants/NAME/tests/*.yaml`, which `pmctl test` runs."],
  fleet: ["Fleet file", "Keys of `fleet.yaml`, which `pmctl fleet` carries out."],
  pmctl: ["Operator's file", "Keys of `pmctl.yaml`."],
};

/** The pages of docs/reference, by name. */
export async function referencePages(): Promise<Record<string, string>> {
  const files = Object.keys(FILES).map((file) => [`${file === "case" ? "cases" : file}.md`, keysPage(file)] as const);
  return {
    ...Object.fromEntries(files),
    "errors.md": errorsPage(),
    "commands.md": commandsPage(await completeProgram()),
    "api.md": await apiPage(),
  };
}

function keysPage(file: string): string {
  const [title = "", about = ""] = TITLES[file] ?? [];
  const root = keysOf(file);
  const sections = root.keys.map((key) => {
    const below = leavesOf(key);
    return [`## ${key.path.replace(`${file}.`, "")}`, "", `${key.description}`, "", keyTable([key, ...below])].join(
      "\n",
    );
  });
  return [
    `# ${title}`,
    "",
    `${about} \`pmctl explain ${file}.KEY\` prints one of them. ${NOTE}`,
    "",
    ...sections.join("\n\n").split("\n"),
    "",
  ].join("\n");
}

const leavesOf = (key: FileKey): FileKey[] => key.keys.flatMap((child) => [child, ...leavesOf(child)]);

function keyTable(keys: readonly FileKey[]): string {
  return table(
    ["key", "type", "default", "example", "what it is", "loosens"],
    keys.map(({ path, type, required, default: usual, examples, description, loosens }) =>
      row(
        code(path),
        cell(`${type}${required ? ", required" : ""}`),
        code(usual === undefined ? "" : JSON.stringify(usual)),
        code(examples.length === 0 ? "" : JSON.stringify(examples[0])),
        cell(description),
        cell(loosens ?? ""),
      ),
    ),
  );
}

function errorsPage(): string {
  const sections = FAULT_CODES.map((name) => {
    const { status, exit, meaning, next } = faultFacts(name);
    return [
      `## ${name}`,
      "",
      `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`,
      "",
      `HTTP status ${status} · exit code ${exit} (${EXIT_MEANINGS[exit as keyof typeof EXIT_MEANINGS]})`,
      ...(next === undefined ? [] : ["", "```", next, "```"]),
    ].join("\n");
  });
  return `# Errors\n\nEach code with its meaning, its HTTP status, its exit code, and the command that most likely helps. ${NOTE}\n\n${sections.join("\n\n")}\n`;
}

function commandsPage(program: Command): string {
  const walk = (command: Command, path: string[]): string[] => [
    ...(path.length > 0 && Reflect.get(command, "_actionHandler") ? [commandSection(command, path)] : []),
    ...command.commands
      .filter((child) => child.name() !== "help" || path.length === 0)
      .flatMap((child) => walk(child, [...path, child.name()])),
  ];
  return `# Commands\n\nEvery command with its arguments, options and examples. \`pmctl help errors\` lists the exit codes. ${NOTE}\n\n${walk(program, []).join("\n\n")}\n`;
}

function commandSection(command: Command, path: string[]): string {
  const name = path.join(" ");
  const usage = ["pmctl", name, ...command.registeredArguments.map(argumentName)].join(" ");
  const described = [
    ...command.registeredArguments.map((argument) => row(code(argumentName(argument)), cell(argument.description))),
    ...command.options
      .filter(({ hidden }) => !hidden)
      .map((option: Option) => row(code(option.flags), cell(withChoices(option)))),
  ];
  const examples = examplesOf(name, []).map(({ line }) => `pmctl ${line}`);
  return [
    `## pmctl ${name}`,
    "",
    cell(command.description()),
    "",
    "```",
    usage,
    "```",
    ...(described.length === 0 ? [] : ["", table(["argument or option", "what it is"], described)]),
    ...(examples.length === 0 ? [] : ["", "```", ...examples, "```"]),
  ].join("\n");
}

const argumentName = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

function withChoices({ description, argChoices, defaultValue }: Option): string {
  const choices =
    argChoices && !argChoices.every((choice) => description.includes(choice)) ? ` (${argChoices.join(", ")})` : "";
  const usual =
    defaultValue === undefined || Array.isArray(defaultValue) ? "" : ` (default: ${JSON.stringify(defaultValue)})`;
  return `${description}${choices}${usual}`;
}

interface ApiOperation {
  tags?: string[];
  operationId: string;
  summary?: string;
  description?: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string }[];
  responses: Record<string, { description: string }>;
}

async function apiPage(): Promise<string> {
  const { paths } = (await schemaDocument("openapi")) as unknown as {
    paths: Record<string, Record<string, ApiOperation>>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      request: `${method.toUpperCase()} ${path}`,
    })),
  );
  const byTag = Map.groupBy(operations, ({ tags = ["other"] }) => tags[0] ?? "other");
  const sections = [...byTag].map(([tag, inTag]) => `## ${tag}\n\n${inTag.map(operationSection).join("\n\n")}`);
  return `# API\n\nEvery request by tag. \`/docs\` of a running server has the bodies with examples, and \`/openapi.json\` describes them for programs. ${NOTE}\n\n${sections.join("\n\n")}\n`;
}

function operationSection({
  request,
  operationId,
  summary = "",
  parameters = [],
  responses,
}: ApiOperation & { request: string }): string {
  return [
    `### ${operationId}`,
    "",
    `\`${request}\``,
    "",
    cell(summary),
    ...(parameters.length === 0
      ? []
      : [
          "",
          table(
            ["parameter", "in", "what it is"],
            parameters.map((each) => row(code(each.name), each.in, cell(each.description ?? ""))),
          ),
        ]),
    "",
    table(
      ["status", "meaning"],
      Object.entries(responses).map(([status, { description }]) => row(status, cell(description))),
    ),
  ].join("\n");
}
