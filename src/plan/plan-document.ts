import { EmbedSection, PagesSection } from "../config/schema/embed-schema.ts";
import type { TenantConfig } from "../config/tenant-config.ts";
import type { PlacedMarket } from "../config/tenant-files/market-files.ts";
import type { ConfigDocument, DeclaredTerms } from "../contract/resources/config-document.ts";
import { usualScopes } from "../domain/access/scopes.ts";
import { canonicalJson, isSame, type Json } from "../domain/audit/audit-link.ts";
import { fieldsOfDocument } from "../domain/audit/document-changes.ts";
import { Fault } from "../domain/fault.ts";
import { isMapping } from "../domain/json/mapping.ts";
import { usdFromMicro } from "../domain/money.ts";
import { normalPolicy } from "../domain/policy/values.ts";
import type { Desired, DesiredKey, LiveConfig } from "./plan-types.ts";

const USUAL_EMBED = EmbedSection.parse({});
const USUAL_PAGES = PagesSection.parse({});

/** The document of a tenant's files. */
export function documentOf(
  // Labels and rules are the operator's own order among tenants and plans: a server never reads them.
  { source, labels, rules, ...config }: TenantConfig,
  markets: readonly PlacedMarket[],
  keys: readonly DesiredKey[],
): ConfigDocument {
  const { server, webhooks, network, embed, pages, cors } = config;
  const document = {
    ...config,
    keys: { admin: byName(config.keys.admin), public: byName(config.keys.public) },
    server: {
      ...server,
      trustProxy: sorted(server.trustProxy),
      hosts: sorted(server.hosts),
      adminHosts: sorted(server.adminHosts),
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
    // Settings that came later stand here only where a file states another value than the usual one, so that a plan after
    // an upgrade has nothing to say of them.
    embed: {
      ...unusual({ ...embed, theme: { ...embed.theme, overridable: sorted(embed.theme.overridable) } }, USUAL_EMBED),
      allowedOrigins: sorted(embed.allowedOrigins),
    },
    pages: isSame(pages, USUAL_PAGES) ? undefined : pages,
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

/** A key as plans and documents show it; scopes that are usual for its type are left out. */
export function keyText({ type, fingerprint, scopes, from, expiresAt }: Omit<DesiredKey, "hash" | "name">): string {
  const isUsual = scopes.join() === usualScopes(type).join();
  const kept = `${isUsual ? "" : ` scopes ${scopes.join(",")}`}${from.length === 0 ? "" : ` from ${from.join(",")}`}`;
  const until = expiresAt === null ? "" : ` until ${new Date(expiresAt).toISOString()}`;
  return `${type} ${fingerprint}${kept}${until}`;
}

/** By key, the keys that markets of the files had before. */
export function movedOf(markets: readonly PlacedMarket[]): Record<string, string> {
  return Object.fromEntries(markets.flatMap(({ key, moved }) => (moved === undefined ? [] : [[key, moved]])));
}

/** By key, the ids of the markets that files take over. */
export function importsOf(markets: readonly PlacedMarket[]): Record<string, string> {
  return Object.fromEntries(markets.flatMap(({ key, import: id }) => (id === undefined ? [] : [[key, id]])));
}

function declaredTerms(market: PlacedMarket): DeclaredTerms {
  const { key: _key, source: _source, moved: _moved, import: _import, liquidityUsd, ...terms } = market;
  return { ...terms, liquidityUsd: liquidityUsd === undefined ? undefined : usdFromMicro(liquidityUsd) };
}

/** The entries that differ from the usual ones. */
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

/** Where the parts of a document stand whose fields go by another name in plans. */
const PLACES = [
  ["keyring", "keys."],
  ["declared", "markets."],
] as const;

/** Whether a field is one of the targets, or lies below one. */
export function isTargeted(field: string, targets: readonly string[]): boolean {
  return targets.some((target) => field === target || field.startsWith(`${target}.`));
}

/**
 * What is wanted of some fields only: all others stay as they were last applied, in the document too, so that a later plan
 * still shows them.
 * @param named such as `policy`, `policy.feeBps` or `markets.rain`
 * @throws Fault USAGE for a tenant that was never applied, NOT_FOUND for a target that neither document has
 */
export function onlyTargets(desired: Desired, { document: applied }: LiveConfig, named: readonly string[]): Desired {
  if (applied === undefined)
    throw new Fault("USAGE", "--target chooses among what was applied: the first apply is of the whole files");
  const base = applied as ConfigDocument;
  // A market that gets another key leaves its place under the old one.
  const left = Object.entries(desired.moved ?? {}).filter(([key]) => isTargeted(`markets.${key}`, named));
  const targets = [
    ...named,
    ...left.flatMap(([, key]) => (Object.hasOwn(base.declared, key) ? [`markets.${key}`] : [])),
  ];
  const known = [...fieldsOfDocument(base), ...fieldsOfDocument(desired.document)];
  const unknown = targets.filter((target) => !known.some((field) => isTargeted(field, [target])));
  if (unknown.length > 0) throw new Fault("NOT_FOUND", `Nothing in the files is called ${unknown.join(", ")}`);
  const document = merged(base, desired.document, "", targets) as ConfigDocument;
  const adopted = Object.fromEntries(Object.entries(base.adopted).filter(([field]) => !isTargeted(field, targets)));
  return { ...desired, document: { ...document, adopted }, targets };
}

/** The applied value of a part, with what is targeted as it is wanted. */
function merged(
  applied: Json | undefined,
  wanted: Json | undefined,
  field: string,
  targets: readonly string[],
): Json | undefined {
  if (field !== "" && isTargeted(field, targets)) return wanted;
  if (!isMapping(applied) && !isMapping(wanted)) return applied;
  const [before, after] = [isMapping(applied) ? applied : {}, isMapping(wanted) ? wanted : {}];
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const value = merged(before[name], after[name], childField(field, name), targets);
    return value === undefined ? [] : [[name, value] as const];
  });
  // A section of which nothing is targeted, and which was not applied, stays away.
  return parts.length === 0 && applied === undefined ? undefined : Object.fromEntries(parts);
}

function childField(field: string, name: string): string {
  const place = PLACES.find(([section]) => section === field);
  if (place) return `${place[1]}${name}`;
  return field === "" ? name : `${field}.${name}`;
}
