import type { Command } from "commander";
import { checkUrl } from "../../app/doors/choose-door.ts";
import type { Check } from "../../app/embed/check-embed.ts";
import type { Snippet } from "../../app/embed/embed-snippet.ts";
import { readOperatorTenant } from "../../app/tenant/operator-tenant.ts";
import { MarketId } from "../../contract/scalars.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, Host } from "../command.ts";
import type { View } from "../output/output.ts";
import { register as registerMessages } from "./messages.ts";

interface SnippetOptions {
  market?: string;
  view?: string;
  theme?: string;
  url?: string;
}

interface CheckOptions {
  url?: string;
  origin?: string;
}

const VIEWS = ["market", "markets", "portfolio"];
const THEMES = ["dark", "light", "auto"];

const snippetView: View<Snippet, Snippet> = {
  kind: "text",
  text: ({ html, csp }) => `${html.join("\n")}\n\nContent-Security-Policy of the page, where it has one:\n${csp}`,
};

const checkView: View<{ checks: Check[] }, Check> = {
  kind: "list",
  rows: ({ checks }) => checks,
  columns: [
    { title: "CHECK", cell: ({ check }) => check, whole: true },
    { title: "RESULT", cell: ({ result }) => result, whole: true },
    { title: "DETAIL", cell: ({ detail }) => detail },
  ],
  empty: "",
};

export function register(noun: Command, host: Host): void {
  host.add<SnippetOptions>(
    noun
      .command("snippet")
      .description("the two lines that put the widget on a page, and what the page's policy must allow")
      .option("--market <id>", "the market that the market view shows; the top trending one unless given")
      .option("--view <view>", `${VIEWS.join(", ")}; market with --market, else markets`)
      .option("--theme <theme>", `${THEMES.join(", ")}; dark unless given`),
    { names: "html csp scriptUrl integrity" },
    runSnippet,
  );
  host.add<CheckOptions>(
    noun
      .command("check")
      .description("whether a server serves the widget, and whether a page may trade in it")
      .option("--origin <origin>", "the site that shows the widget, such as https://news.example"),
    { names: "check result detail" },
    runCheck,
  );
  registerMessages(noun, host);
}

/** Prints what a publisher pastes into a page. Needs no server: the loader is part of this build. */
async function runSnippet({ options, io }: CommandContext<SnippetOptions>): Promise<void> {
  const { config } = readOperatorTenant(options.tenant);
  const { market: marketId, theme = "dark" } = options;
  const view = options.view ?? (marketId === undefined ? "markets" : "market");
  requireOneOf("--view", VIEWS, view);
  requireOneOf("--theme", THEMES, theme);
  if (marketId !== undefined && view !== "market")
    throw new Fault("USAGE", `--market goes with --view market, not with ${view}`);
  if (marketId !== undefined && !MarketId.safeParse(marketId).success)
    throw new Fault("USAGE", "--market must be the id of a market, as `pmctl market list` shows it");
  const { snippetFor } = await import("../../app/embed/embed-snippet.ts");
  const baseUrl = options.url === undefined ? config.baseUrl : checkUrl(options.url);
  await io.output.print(snippetFor({ baseUrl, view, theme, marketId }), snippetView);
  if (config.embed.allowedOrigins.length === 0)
    io.output.note(
      "Any page may show the widget, but none may trade in it: list the sites that may in embed.allowedOrigins.",
    );
  else
    io.output.note(
      "To let readers trade, pass getToken: () => <a JWT of the signed-in user>; the policy then needs the hash of the changed script.",
    );
}

/**
 * Asks the server that is given, or the tenant's own address.
 * @throws Fault after printing: UNREACHABLE when no server answers there, EXPECTATION_NOT_MET when a check fails
 */
async function runCheck({ options, io }: CommandContext<CheckOptions>): Promise<void> {
  const tenant = readOperatorTenant(options.tenant);
  const { checkEmbed, NO_ANSWER } = await import("../../app/embed/check-embed.ts");
  const checks = await checkEmbed(tenant, {
    url: options.url === undefined ? undefined : checkUrl(options.url),
    origin: options.origin === undefined ? undefined : parseOrigin(options.origin),
  });
  await io.output.print({ checks }, checkView);
  const failed = checks.filter(({ result }) => result === "fail");
  if (failed.length === 0) return;
  const names = failed.map(({ check }) => check).join(", ");
  const isAway = failed.some(({ detail }) => detail.startsWith(NO_ANSWER));
  throw new Fault(isAway ? "UNREACHABLE" : "EXPECTATION_NOT_MET", `The widget cannot be used like this: ${names}`);
}

function requireOneOf(option: string, known: readonly string[], given: string): void {
  if (!known.includes(given)) throw new Fault("USAGE", `${option} must be one of ${known.join(", ")}`);
}

function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, ""))
    throw new Fault("USAGE", "--origin must be scheme and host, such as https://news.example");
  return url.origin;
}
