import { EXIT_MEANINGS } from "../../src/cli/errors.ts";
import { FILES } from "../../src/config/schema/schema-keys.ts";
import { REMEDIES } from "../../src/contract/fault-remedies.ts";
import { operations } from "../../src/contract/operations.ts";
import { FAULT_CODES, faultFacts } from "../../src/domain/fault.ts";
import { apiPage } from "./api-page.ts";
import { auditPage } from "./audit-page.ts";
import { commandsPage } from "./commands-page.ts";
import { eventsPage } from "./events-page.ts";
import { keysPage } from "./keys-page.ts";
import { code, NOTE, sentence } from "./markdown.ts";
import { metricsPage } from "./metrics-page.ts";

/** The pages of docs/reference, by name. */
export async function referencePages(): Promise<Record<string, string>> {
  const files = Object.keys(FILES).map((file) => [`${file === "case" ? "cases" : file}.md`, keysPage(file)] as const);
  return {
    ...Object.fromEntries(files),
    "errors.md": errorsPage(),
    "commands.md": await commandsPage(),
    "api.md": await apiPage(),
    "metrics.md": await metricsPage(),
    "audit.md": auditPage(),
    "events.md": await eventsPage(),
  };
}

/** A code of more requests is one of nearly all. */
const MOST_ASKED = 12;

function errorsPage(): string {
  const sections = FAULT_CODES.map((name) => {
    const { status, exit, meaning, next, action } = faultFacts(name);
    const asked = Object.entries(operations).flatMap(([id, { refusals }]) =>
      (refusals as readonly string[]).includes(name) ? [id] : [],
    );
    return [
      `## ${name}`,
      "",
      sentence(`${meaning}.`),
      "",
      REMEDIES[name],
      "",
      `HTTP status ${status} · exit code ${exit} (${EXIT_MEANINGS[exit as keyof typeof EXIT_MEANINGS]})`,
      ...(asked.length === 0 || asked.length > MOST_ASKED ? [] : ["", `Answered by ${asked.map(code).join(", ")}.`]),
      ...(action === undefined ? [] : ["", `\`getEligibility\` names the action \`${action}\`.`]),
      ...(next === undefined ? [] : ["", "```sh", next, "```"]),
    ].join("\n");
  });
  return `# Errors\n\nEach code with its cause and its remedy. Below them are its HTTP status, its exit code, the [requests](api.md) that have it among their own errors, and the command that most likely helps. \`pmctl explain error.CODE\` prints one. ${NOTE}\n\n${sections.join("\n\n")}\n`;
}
