import { createHash } from "node:crypto";
import type { Command } from "commander";
import type { Check } from "../../app/embed/check-embed.ts";
import { checkUrl } from "../../app/tenant/door.ts";
import { readOperatorTenant } from "../../app/tenant/operator-tenant.ts";
import { MarketId, MarketKey } from "../../contract/scalars.ts";
import {
  MARKETS_OF,
  SCRIPT_PATH,
  SNIPPET_FORMS,
  SNIPPET_THEMES,
  SNIPPET_VIEWS,
  type SnippetForm,
  type SnippetTerms,
  snippetPolicy,
  writeSnippet,
} from "../../domain/embed/snippet.ts";
import { Fault } from "../../domain/fault.ts";
import { isWholeId } from "../../domain/market/short-id.ts";
import type { Message, Messages } from "../../locales/messages.ts";
import { type CommandContext, type Host, type Io, withSession } from "../command.ts";
import { ASKS_TENANT, READS_FILES } from "../errors.ts";
import { resolveId } from "../input/names.ts";
import type { View } from "../output/output.ts";

interface SnippetOptions {
  market?: string;
  view?: string;
  theme?: string;
  locale?: string;
  as?: string;
  url?: string;
}

interface CheckOptions {
  url?: string;
  origin?: string;
}

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
    // The detail ends with the remedy. Where a table has no room for it, each check is printed as a record.
    { title: "DETAIL", cell: ({ detail }) => detail, whole: true },
  ],
  empty: "",
};

export function register(noun: Command, host: Host): void {
  host.add<SnippetOptions>(
    noun
      .command("snippet")
      .description("print the HTML that puts the widget on a page, and what the page's policy must allow")
      .option(
        "--market <market>",
        "the market of the market and card views: its id, an id prefix, its key or @last (default: the top trending one); for compare two of them, by comma",
      )
      .option("--view <view>", `${SNIPPET_VIEWS.join(", ")} (default: market with one, compare with two, else markets)`)
      .option("--theme <theme>", `${SNIPPET_THEMES.join(", ")} (default: auto)`)
      .option("--locale <tag>", "the widget's language, such as de or pt-BR (default: the page's own)")
      .option(
        "--as <form>",
        `${SNIPPET_FORMS.join(", ")}; iframe needs no script, and its readers cannot trade`,
        "script",
      ),
    { names: "html csp scriptUrl", ends: ASKS_TENANT },
    runSnippet,
  );
  host.add<CheckOptions>(
    noun
      .command("check")
      .description("check whether a server serves the widget, and whether a page may trade in it")
      .option("--origin <origin>", "the site that shows the widget, such as https://news.example"),
    {
      names: "check result detail",
      ends: { ...READS_FILES, 7: "the page cannot use the widget", 9: "no server answers there" },
    },
    runCheck,
  );
  registerMessages(noun, host);
}

/**
 * Prints the HTML that a publisher pastes into a page. Needs a server only to look up `--market`.
 * @throws Fault USAGE; AMBIGUOUS for a prefix of several ids
 */
async function runSnippet({ options, io }: CommandContext<SnippetOptions>): Promise<void> {
  const tenant = readOperatorTenant(options.tenant);
  const { config } = tenant;
  const given = options.market?.split(",") ?? [];
  const likely = given.length > 1 ? "compare" : given.length === 1 ? "market" : "markets";
  const view = oneOf("--view", SNIPPET_VIEWS, options.view ?? likely);
  const theme = oneOf("--theme", SNIPPET_THEMES, options.theme ?? "auto");
  const form = oneOf("--as", SNIPPET_FORMS, options.as ?? "script");
  const locale = options.locale === undefined ? undefined : parseLocale(options.locale);
  const [least, most] = MARKETS_OF[view];
  if (given.length > most) throw new Fault("USAGE", `--market does not go with --view ${view}`);
  if (given.length < least) throw new Fault("USAGE", "--view compare needs --market with two markets, by comma");
  if (given.some((text) => !MarketId.safeParse(text).success))
    throw new Fault("USAGE", "--market must be the id or key of a market, as `pmctl market list` shows them");
  const [{ languagesFor }, { snippetOrigin }] = await Promise.all([
    import("../../app/embed/check-embed.ts"),
    import("../../app/embed/snippet-origin.ts"),
  ]);
  const origin = options.url === undefined ? await snippetOrigin(tenant) : new URL(checkUrl(options.url)).origin;
  const marketIds = await findMarkets(given, options, io);
  const title = String(languagesFor(config).choose(locale === undefined ? [] : [locale]).messages["page.marketFrame"]);
  await io.output.print(snippetWithPolicy(form, { origin, view, theme, marketIds, locale, title }), snippetView);
  if (config.embed.allowedOrigins.length === 0)
    io.output.note(
      "Any page may show the widget, but none may trade in it yet: list the sites that may trade in embed.allowedOrigins.",
    );
  else if (form === "iframe")
    io.output.note("Readers cannot trade in a frame of a page without scripts: use --as script or element.");
  else
    io.output.note(
      form === "script"
        ? "To let readers trade, pass getToken: () => <a JWT of the signed-in user>; the page's policy then needs the hash of the changed script."
        : "To let readers trade, set the element's property getToken to () => <a JWT of the signed-in user>.",
    );
}

/**
 * The whole ids of markets. A text that cannot be a key counts as an id where the tenant cannot be asked.
 * @throws the errors of opening the tenant and of `resolveId`; Fault MARKET_NOT_FOUND
 */
async function findMarkets(
  given: readonly string[],
  options: CommandContext<SnippetOptions>["options"],
  io: Io,
): Promise<readonly string[]> {
  if (given.every((text) => isWholeId("market", text))) return given;
  try {
    return await withSession(options, io, (session) => {
      const api = session.api();
      return Promise.all(
        given.map(async (text) => (await api.getMarket({ id: await resolveId("market", text, api, session) })).id),
      );
    });
  } catch (error) {
    const isDecided = !(error instanceof Fault) || ["AMBIGUOUS", "NOT_FOUND", "MARKET_NOT_FOUND"].includes(error.code);
    if (isDecided || given.some((text) => MarketKey.safeParse(text).success || text.startsWith("@"))) throw error;
    return given;
  }
}

/**
 * Asks the given server, or the tenant's own address.
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

function oneOf<Known extends string>(option: string, known: readonly Known[], given: string): Known {
  const found = known.find((one) => one === given);
  if (found === undefined) throw new Fault("USAGE", `${option} must be one of ${known.join(", ")}`);
  return found;
}

/** @returns the tag in the form of BCP 47 */
function parseLocale(text: string): string {
  try {
    return new Intl.Locale(text).toString();
  } catch {
    throw new Fault("USAGE", "--locale must be a language tag, such as de or pt-BR");
  }
}

function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.origin !== text.replace(/\/$/, ""))
    throw new Fault("USAGE", "--origin must be scheme and host, such as https://news.example");
  return url.origin;
}

/** The HTML of the widget for a publisher's page. */
interface Snippet {
  html: string[];
  /** Directives that the page's policy needs if it has one. */
  csp: string;
  scriptUrl: string;
}

/** A few lines of HTML. The script has no integrity value, because upgrades change it at the same address. */
export function snippetWithPolicy(form: SnippetForm, terms: SnippetTerms): Snippet {
  const { html, call } = writeSnippet(form, terms);
  const callHash = call === undefined ? undefined : createHash("sha256").update(call).digest("base64");
  return { html, csp: snippetPolicy(form, terms.origin, callHash), scriptUrl: terms.origin + SCRIPT_PATH };
}

interface MessagesOptions {
  locale?: string;
}

interface Shown {
  locale: string;
  messages: Messages;
}

interface Row {
  key: string;
  text: string;
}

const view: View<Shown, Row> = {
  kind: "list",
  rows: ({ messages }) => Object.entries(messages).flatMap(([key, message]) => rowsOf(key, message)),
  columns: [
    { title: "KEY", cell: ({ key }) => key, whole: true },
    { title: "TEXT", cell: ({ text }) => text, wraps: true },
  ],
  empty: "",
};

function registerMessages(noun: Command, host: Host): void {
  host.add<MessagesOptions>(
    noun
      .command("messages")
      .description(
        "print all texts of the widget and the market pages in one language, in the form of a file of embed.messages",
      )
      .option("--locale <tag>", "the language, such as pt-BR (default: embed.locale)"),
    { names: "locale messages key text", ends: { 5: "there is no such language or tenant" } },
    runMessages,
  );
}

/** @throws Fault NOT_FOUND for a language that is neither built in nor stated by the tenant */
async function runMessages({ options, io }: CommandContext<MessagesOptions>): Promise<void> {
  const { config } = readOperatorTenant(options.tenant);
  const { languagesFor } = await import("../../app/embed/check-embed.ts");
  const languages = languagesFor(config);
  const asked = options.locale ?? config.embed.locale;
  const locale = languages.locales.find((one) => one.toLowerCase() === asked.toLowerCase());
  if (locale === undefined)
    throw new Fault(
      "NOT_FOUND",
      `There are no messages in ${JSON.stringify(asked)}; there are messages in ${languages.locales.join(", ")}`,
    );
  const { messages } = languages.choose([locale]);
  await io.output.print({ locale, messages }, view);
}

function rowsOf(key: string, message: Message): Row[] {
  if (typeof message === "string") return [{ key, text: message }];
  return Object.entries(message).map(([category, text]) => ({ key: `${key} (${category})`, text }));
}
