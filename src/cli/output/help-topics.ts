import type { Command } from "commander";
import { FAULT_CODES, Fault, type FaultCode } from "../../domain/fault.ts";
import { EXIT_MEANINGS } from "../errors.ts";
import { wrap } from "./text-width.ts";

/** Pages of `pmctl help` that are not about one command. */
export const TOPICS: Readonly<Record<string, { summary: string; text: () => string }>> = {
  "exit-codes": { summary: "what each exit code means, and which error codes end with it", text: exitCodes },
  errors: { summary: "each error code and its meaning; errors MARKET_CLOSED shows that one", text: exitCodes },
  environment: { summary: "the variables that pmctl reads, and .env", text: () => ENVIRONMENT },
  formats: { summary: "tables, json, yaml, csv, tsv, ndjson and markdown, and picking fields", text: () => FORMATS },
  yaml: { summary: "the tenant file, market files, and what applying them means", text: () => YAML },
};

/** The text above the list of commands. */
export const BEGIN = `To begin: \`pmctl demo\` shows everything at once; \`pmctl init\` makes a tenant of
your own, and says what comes next.`;

/** The text below the list of commands. */
export function topicList(): string {
  const width = Math.max(...Object.keys(TOPICS).map((name) => name.length));
  const lines = Object.entries(TOPICS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `\nTopics (pmctl help <topic>):\n${lines.join("\n")}\n`;
}

/** The line above the help of a noun for a word that is none of its commands; empty for other help. */
export function unknownVerb(noun: Command): string {
  const [word = "-"] = noun.args;
  if (word.startsWith("-") || noun.commands.length === 0 || noun.registeredArguments.length > 0) return "";
  return `pmctl ${noun.name()} has no command ${word}; it has those below.\n`;
}

/** The last lines of every command's help. */
export const HELP_END =
  "\nExit codes and error codes: pmctl help errors\nOptions that every command takes: --help --all";

const INDENT = " ".repeat(9);

/** Lists the error codes of JSON errors and of the `Error-Code` header, each below its exit code. */
function exitCodes(): string {
  const lines = Object.entries(EXIT_MEANINGS).map(([exit, meaning]) => {
    const codes = codesEndingWith(Number(exit));
    const lists = codes.length === 0 ? [] : wrap(codes.join(" "), 80 - INDENT.length);
    return [`${exit.padStart(5)}  ${meaning}`, ...lists.map((line) => INDENT + line)].join("\n");
  });
  return [
    "Exit codes, and the error codes that end with them:",
    "",
    ...lines,
    "",
    "A script may rely on these numbers. With -o json an error is one line on",
    'stderr: {"error": "...", "code": "MARKET_CLOSED", "requestId": "...",',
    '"exit": 7, "fix": null}. `fix` is a command to try, ready to be pasted.',
  ].join("\n");
}

function codesEndingWith(exit: number): FaultCode[] {
  return FAULT_CODES.filter((code) => new Fault(code, "").exitCode === exit);
}

const ENVIRONMENT = `Variables that pmctl reads:

  PMCTL_TENANT          the tenant that a command without -t means
  PMCTL_OUTPUT          how a command without -o prints, such as json
  PMCTL_URL_ACME        the https:// address of the server of the tenant acme;
                        one in .env is ignored
  ACME_READ_KEY         a key of scope read, where no other of acme is at hand
  NODE_EXTRA_CA_CERTS   a file of certificates to trust, such as a server's own
  NO_COLOR              plain text, whatever its value
  CI                    nothing is ever asked when it is set
  PMCTL_DEBUG           shows the stack of an error
  GITHUB_STEP_SUMMARY   a file that plan, apply and drift add their report to

And those that the tenant file names: { env: ACME_ADMIN_KEY } is a secret of
that name. \`.env\` beside the tenants folder is read too; a variable that is set
for the process wins, even when it is empty. Keep .env out of git and readable
by you alone: \`pmctl doctor\` looks at both.`;

const FORMATS = `How results are printed (-o, --output):

  table    for people; the default on a terminal
  json     one document, exactly what the API answers; the default elsewhere
  yaml     the same as YAML
  csv      one line per item, with a header
  tsv      the same with tabs
  ndjson   one JSON document per line and item
  markdown a table for pages of build servers and pull requests

  --fields id,yesPrice   only these fields; a wrong name lists the right ones
  --quiet                nothing but errors on stderr
  --no-color             plain text, which it is anyway outside of a terminal

stdout carries data and nothing else; notes, progress and questions go to
stderr. Examples:

  pmctl market list -o json | jq -r '.[].id'
  pmctl audit list --type market.settled -o csv > settled.csv
  pmctl key create --type public --name app -o json --fields key`;

const YAML = `The tenant file is tenants/<id>/tenant.yaml. \`pmctl init acme\` writes one, and
tenants/tenant.schema.json lets editors complete and explain it.

  Secrets are references, never values: { env: ACME_ADMIN_KEY } is a variable,
  { file: keys/admin } a file. A literal secret is an error, and so are a
  variable without the tenant's prefix, a file outside of its folder, and a
  source that sends a secret, unless pmctl.yaml beside the tenants folder lists
  it. That file is the operator's: \`pmctl schema operator\` describes it.

  What \`policy\` states is managed by the file. What it leaves out keeps its live
  value, which \`pmctl policy show\` prints.

  \`audit.anchors\` names further places for signed anchors of the log, by which a
  database that was set back is noticed: { file }, { exec: [program] } or
  { url, secret }, or a list of up to 5; \`audit.anchorEvery\` says how often.

  YAML is version 1.2, so NO is a text. Quote country codes anyway: other tools
  read NO as false.

\`labels\` order many tenants: commands that take several select them with -l.

  -l region=eu,tier!=gold       both must hold; != holds without the label too
  -l 'zone in (a,b),!legacy'    one of these, and no label legacy; so also notin
  pmctl plan 'acme-*'           names take * and ?

Market files are listed under markets.files. \`key\` is a market's identity: never
reuse one. A market is created once; a changed question, closing time or kind
stops the apply. Nothing in a file ever settles or deletes a market.

The way of a change:

  pmctl validate    is it sound? every problem with its line and column
  pmctl plan        what would it change, and what was changed live meanwhile?
  pmctl apply       do it, in one commit per tenant
  pmctl doctor      is everything in place?`;
