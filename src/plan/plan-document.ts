import { ConsoleSection } from "../config/schema/console-schema.ts";
import { EmbedSection, PagesSection } from "../config/schema/embed-schema.ts";
import type { TenantConfig } from "../config/tenant-config.ts";
import type { PlacedMarket } from "../config/tenant-files/market-files.ts";
import type { ConfigDocument, DeclaredTerms } from "../contract/resources/config-document.ts";
import { canonicalJson, isSame, type Json } from "../domain/audit/audit-link.ts";
import { usdFromMicro } from "../domain/money.ts";
import { NO_RULES } from "../domain/policy/approvals.ts";
import { normalPolicy } from "../domain/policy/values.ts";
import { keyText } from "./plan-compare.ts";
import type { DesiredKey } from "./plan-types.ts";

const USUAL_EMBED = EmbedSection.parse({});
const USUAL_CONSOLE = ConsoleSection.parse({});
const USUAL_PAGES = PagesSection.parse({});

/** The document of a tenant's files. */
export function documentOf(
  // Labels and rules are for the operator's commands: a server never reads them.
  { source, labels, rules, ...config }: TenantConfig,
  markets: readonly PlacedMarket[],
  keys: readonly DesiredKey[],
): ConfigDocument {
  const { server, webhooks, network, embed, pages, cors, resolution, approvals } = config;
  const document = {
    ...config,
    keys: { admin: byName(config.keys.admin), public: byName(config.keys.public) },
    server: {
      ...server,
      trustProxy: sorted(server.trustProxy),
      hosts: sorted(server.hosts),
      adminHosts: sorted(server.adminHosts),
      console: consoleOf(server.console),
    },
    webhooks: {
      ...webhooks,
      outbound: byName(webhooks.outbound).map((each) => ({ ...each, events: sorted(each.events) })),
    },
    network: {
      allowPrivate: sorted(network.allowPrivate),
      allowPorts: [...new Set(network.allowPorts)].sort((a, b) => a - b),
      allowHosts: sorted(network.allowHosts),
    },
    // A newer setting is included only if a file states another value than the default, so that a plan after an upgrade
    // does not list it.
    embed: {
      ...unusual({ ...embed, theme: { ...embed.theme, overridable: sorted(embed.theme.overridable) } }, USUAL_EMBED),
      allowedOrigins: sorted(embed.allowedOrigins),
    },
    pages: isSame(pages, USUAL_PAGES) ? undefined : pages,
    resolution: isSame(resolution, NO_RULES.resolution as unknown as Json) ? undefined : resolution,
    approvals: isSame(approvals, {}) ? undefined : approvals,
    cors: { ...cors, origins: sorted(cors.origins) },
    markets: { ...config.markets, files: sorted(config.markets.files) },
    policy: normalPolicy(config.policy),
    keyring: Object.fromEntries(keys.map((key) => [key.name, keyText(key)])),
    declared: Object.fromEntries(markets.map((market) => [market.key, declaredTerms(market)])),
    adopted: {},
  };
  // Through its text once, so that this plan compares the same document that a later plan will read.
  return JSON.parse(canonicalJson(document)) as ConfigDocument;
}

/** Former keys of the files' markets, by their key. */
export function movedOf(markets: readonly PlacedMarket[]): Record<string, string> {
  return Object.fromEntries(markets.flatMap(({ key, moved }) => (moved === undefined ? [] : [[key, moved]])));
}

/** Ids of the markets that files take over, by key. */
export function importsOf(markets: readonly PlacedMarket[]): Record<string, string> {
  return Object.fromEntries(markets.flatMap(({ key, import: id }) => (id === undefined ? [] : [[key, id]])));
}

function declaredTerms(market: PlacedMarket): DeclaredTerms {
  const { key: _key, source: _source, moved: _moved, import: _import, liquidityUsd, ...terms } = market;
  return { ...terms, liquidityUsd: liquidityUsd === undefined ? undefined : usdFromMicro(liquidityUsd) };
}

/** Undefined for the default. */
function consoleOf(settings: TenantConfig["server"]["console"]): TenantConfig["server"]["console"] | undefined {
  if (isSame(settings, USUAL_CONSOLE)) return undefined;
  return settings && { ...settings, origins: sorted(settings.origins) };
}

/** The entries that differ from the defaults. */
function unusual(section: Record<string, Json | undefined>, usual: Record<string, Json | undefined>) {
  const entries = Object.entries(section).filter(
    ([name, value]) => value !== undefined && !isSame(value, usual[name] ?? null),
  );
  return Object.fromEntries(entries);
}

function sorted<T extends string>(set: readonly T[]): T[] {
  return [...new Set(set)].sort();
}

function byName<T extends { name: string }>(entries: readonly T[]): T[] {
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
