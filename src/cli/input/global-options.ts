import { Option } from "commander";
import { FORMATS } from "../output/serialise.ts";
import { idempotencyKey, writableFile } from "./parsers.ts";
import { selectorOption } from "./selector-option.ts";

/** The options that every command takes. */
export function globalOptions(): Option[] {
  return [
    new Option(
      "-C, --directory <dir>",
      "the operator's directory, with tenants in it (default: the nearest one upwards; for init this one)",
    ),
    new Option(
      "-t, --tenant <id>",
      "the tenant; several as acme,zoe or 'a*' (default: PMCTL_TENANT, else the only one)",
    ),
    selectorOption(),
    new Option("--all", "all tenants of the directory; with --help: show these options too"),
    new Option(
      "-o, --output <format>",
      "output format (default: PMCTL_OUTPUT, else a table on a terminal and json elsewhere)",
    ).choices([...FORMATS]),
    new Option("--fields <names>", "print only these fields, such as id,yesPrice; ? lists them").argParser(splitFields),
    new Option(
      "--via <door>",
      "the way to the tenant: a running server, its database, or auto: the server if it answers",
    )
      .choices(["auto", "db", "http"])
      .default("auto"),
    new Option("--url <address>", "the server to talk to, such as https://predict.acme.example"),
    new Option("--key <name>", "the admin key of the tenant file to use with a server (default: the first)"),
    new Option("--reason <text>", "the reason for a change; goes into the audit entry"),
    new Option(
      "--receipt <file>",
      "append proof of the command's audit entries to a file; audit verify --anchor takes it",
    ).argParser(writableFile),
    new Option(
      "--idempotency-key <key>",
      "make a change once: the same line again within 24 hours prints the first result",
    ).argParser(idempotencyKey),
    new Option("--yes", "answer every confirmation with yes; scripts need it"),
    new Option("--no-input", "never ask, even on a terminal: end with 6 and name the missing option"),
    new Option("--no-pager", "print long tables at once instead of page by page"),
    new Option("--allow-exec", "let secret references of the tenant file run programs"),
    new Option("--quiet", "print only errors on stderr"),
    new Option("--no-color", "print plain text, as with NO_COLOR"),
  ];
}

function splitFields(value: string): string[] {
  return value
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
