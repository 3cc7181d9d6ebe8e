import { EXIT_MEANINGS } from "../../src/cli/errors.ts";
import { FILES } from "../../src/config/schema/schema-keys.ts";
import { FAULT_CODES, faultFacts } from "../../src/domain/fault.ts";
import { apiPage } from "./api-page.ts";
import { auditPage } from "./audit-page.ts";
import { commandsPage } from "./commands-page.ts";
import { eventsPage } from "./events-page.ts";
import { keysPage } from "./keys-page.ts";
import { NOTE, sentence } from "./markdown.ts";
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

function errorsPage(): string {
  const sections = FAULT_CODES.map((name) => {
    const { status, exit, meaning, next } = faultFacts(name);
    return [
      `## ${name}`,
      "",
      sentence(`${meaning}.`),
      "",
      `HTTP status ${status} · exit code ${exit} (${EXIT_MEANINGS[exit as keyof typeof EXIT_MEANINGS]})`,
      ...(next === undefined ? [] : ["", "```", next, "```"]),
    ].join("\n");
  });
  return `# Errors\n\nEach code with its meaning, its HTTP status, its exit code, and the command that most likely helps. ${NOTE}\n\n${sections.join("\n\n")}\n`;
}
