import { HostNames } from "../domain/access/host-names.ts";
import { isLoopback, refusalOfAddress } from "../domain/access/networks.ts";
import { PRESETS } from "../domain/feeds/presets.ts";
import { nearest } from "../domain/nearest.ts";
import { faintPairs, faintText } from "../domain/theme/contrast.ts";
import { sideWordFaults } from "../domain/theme/side-words.ts";
import { mergeColors, type StatedColors } from "../domain/theme/stated-theme.ts";
import { BUILT_IN, type ColorToken, type Scheme } from "../domain/theme/tokens.ts";
import type { Finding, Path } from "./config-error.ts";
import { servedHosts } from "./hosts.ts";
import { statedTargets } from "./schema/anchor-places.ts";
import { ownListener } from "./schema/console-schema.ts";
import type { TenantFile } from "./schema/schema.ts";
import { databaseAddressesAreSound } from "./secrets/database-url.ts";
import { marketFilesStayBelow } from "./tenant-files/market-walk.ts";

/** The sections of a file that the schema accepts. Rules skip a missing section, which has its own problem. */
export type Draft = Partial<TenantFile>;

/** Checks that involve more than one value. Each name states the requirement. */
export const RULES: readonly ((draft: Draft) => Finding[])[] = [
  keyNamesAreUnique,
  webhookNamesAreUnique,
  ruleNamesAreUnique,
  providersHaveSecrets,
  portsDiffer,
  consoleIsProtected,
  adminHostsAreServed,
  outgoingAddressesAreAllowed,
  sourcesAreComplete,
  simulatedPricesNeedSandbox,
  headersAreReferences,
  feedsNameKnownSources,
  feedsHaveSources,
  quorumsCanBeReached,
  marketFilesStayBelow,
  databaseAddressesAreSound,
  themeIsReadable,
  sidesAreNamed,
];

function keyNamesAreUnique({ keys }: Draft): Finding[] {
  const named = (["admin", "public"] as const).flatMap((type) =>
    (keys?.[type] ?? []).map(({ name }, index) => ({ name, path: ["keys", type, index, "name"] })),
  );
  return repeated(named);
}

function webhookNamesAreUnique({ webhooks }: Draft): Finding[] {
  return repeated(
    (webhooks?.outbound ?? []).map(({ name }, index) => ({ name, path: ["webhooks", "outbound", index, "name"] })),
  );
}

function ruleNamesAreUnique({ rules = [] }: Draft): Finding[] {
  return repeated(rules.map(({ name }, index) => ({ name, path: ["rules", index, "name"] })));
}

/** A provider never signs with the shared secrets; `genericSecrets` are for generic webhooks in addition to a provider's. */
function providersHaveSecrets({ webhooks }: Draft): Finding[] {
  const { provider, secrets, genericSecrets } = webhooks?.inbound.kyc ?? {};
  const path = ["webhooks", "inbound", "kyc"];
  if (provider && !secrets)
    return [{ path: [...path, "secrets"], message: `is required with provider: ${provider}`, code: "REQUIRED" }];
  if (provider || !genericSecrets) return [];
  return [
    {
      path: [...path, "genericSecrets"],
      message: "can only be used together with provider: write secrets instead",
      atKey: true,
    },
  ];
}

function portsDiffer({ server }: Draft): Finding[] {
  if (!server || server.port !== server.opsPort || server.port === 0) return [];
  return [{ path: ["server", "opsPort"], message: `must differ from server.port (${server.port})`, code: "CONFLICT" }];
}

/** Keys must not travel unencrypted, and a page must not be reached under a name that a stranger chose. */
function consoleIsProtected({ server }: Draft): Finding[] {
  const { console: settings } = server ?? {};
  const own = settings ? ownListener(settings) : undefined;
  if (!server || !settings || !own) return [];
  const path = ["server", "console"];
  const same = own.port !== 0 && (["port", "opsPort"] as const).find((name) => server[name] === own.port);
  if (same)
    return [{ path: [...path, "port"], message: `must differ from server.${same} (${own.port})`, code: "CONFLICT" }];
  if (isLoopback(own.host)) return [];
  const needs = (message: string): Finding => ({ path: [...path, "host"], message: `is not loopback: ${message}` });
  return [
    ...(settings.tls || server.tls ? [] : [needs("tls is required")]),
    ...(settings.origins.length > 0 ? [] : [needs("origins is required")]),
  ];
}

/** Under any other name, all admin operations would be refused because the host is unknown. */
function adminHostsAreServed({ baseUrl, server }: Draft): Finding[] {
  if (!server || baseUrl === undefined) return [];
  const served = new HostNames(servedHosts({ baseUrl, server }));
  if (served.isEmpty) return [];
  return server.adminHosts.flatMap((name, index) => {
    const host = name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
    return served.has(host) ? [] : [{ path: ["server", "adminHosts", index], message: "must be one of server.hosts" }];
  });
}

function outgoingAddressesAreAllowed(draft: Draft): Finding[] {
  const { network } = draft;
  if (!network) return [];
  return outgoingUrls(draft).flatMap(({ path, url }) => {
    const message = refusalOfAddress(url, network);
    return message === undefined ? [] : [{ path, message }];
  });
}

function outgoingUrls({ audit, auth, oracle, policy, webhooks }: Draft): { path: Path; url: URL }[] {
  const addresses: [Path, string | null | undefined][] = [[["policy", "resolution_url"], policy?.resolution_url]];
  if (auth && "jwks" in auth.jwt && "url" in auth.jwt.jwks)
    addresses.push([["auth", "jwt", "jwks", "url"], auth.jwt.jwks.url]);
  for (const [name, { url }] of Object.entries(oracle?.sources ?? {}))
    addresses.push([["oracle", "sources", name, "url"], url]);
  for (const [index, { url }] of (webhooks?.outbound ?? []).entries())
    addresses.push([["webhooks", "outbound", index, "url"], url]);
  for (const { target, path } of audit ? statedTargets(audit) : [])
    if ("url" in target) addresses.push([[...path, "url"], target.url]);
  return addresses.flatMap(([path, address]) =>
    address ? [{ path, url: new URL(address.replaceAll("{id}", "id")) }] : [],
  );
}

function sourcesAreComplete({ oracle }: Draft): Finding[] {
  return Object.entries(oracle?.sources ?? {}).flatMap(([name, source]): Finding[] => {
    const path = ["oracle", "sources", name];
    const { simulated, push, upstream: _, ...described } = source;
    const stated = Object.entries(described).filter(([, value]) => value !== undefined);
    if (simulated || push)
      return stated.map(([field]) => ({
        path: [...path, field],
        message: `has no effect together with ${simulated ? "simulated" : "push"}: remove it`,
        atKey: true,
      }));
    if (Object.hasOwn(PRESETS, name)) return [];
    // A price without its time could be stale and still look fresh.
    return (["url", "price", "time"] as const)
      .filter((field) => source[field] === undefined)
      .map((field) => ({ path: [...path, field], message: "is required", code: "REQUIRED" }));
  });
}

function simulatedPricesNeedSandbox({ oracle, sandbox }: Draft): Finding[] {
  if (sandbox !== false) return [];
  return Object.entries(oracle?.sources ?? {})
    .filter(([, { simulated }]) => simulated)
    .map(([name]) => ({
      path: ["oracle", "sources", name, "simulated"],
      message: "needs sandbox: true, because the prices are invented",
      atKey: true,
    }));
}

const HARMLESS_HEADERS = ["accept", "user-agent"];

function headersAreReferences({ oracle }: Draft): Finding[] {
  return Object.entries(oracle?.sources ?? {}).flatMap(([name, { headers = {} }]) =>
    Object.entries(headers)
      .filter(([header, value]) => typeof value === "string" && !HARMLESS_HEADERS.includes(header.toLowerCase()))
      .map(([header]) => ({
        path: ["oracle", "sources", name, "headers", header],
        message: "must be a reference such as { env: FEED_TOKEN }; a literal secret does not belong in this file",
        code: "LITERAL_SECRET",
      })),
  );
}

function feedsNameKnownSources({ oracle }: Draft): Finding[] {
  if (!oracle) return [];
  const known = [...Object.keys(oracle.sources), ...Object.keys(PRESETS)];
  return feeds(oracle).flatMap(({ feed, path }) =>
    (feed.sources ?? []).flatMap(({ use }, index) => {
      if (known.includes(use)) return [];
      const meant = nearest(use, known);
      const hint = meant === undefined ? `known: ${known.join(", ")}` : `did you mean "${meant}"?`;
      return [
        {
          path: [...path, "sources", index, "use"],
          message: `there is no source with this name; ${hint}`,
          code: "NOT_ONE_OF",
          meant,
        },
      ];
    }),
  );
}

/** A feed of the built-in venue states only its changes; other venues have no built-in feeds. */
function feedsHaveSources({ oracle }: Draft): Finding[] {
  if (!oracle) return [];
  return feeds(oracle)
    .filter(({ venue, feed }) => venue !== "pm" && !feed.sources)
    .map(({ path }) => ({ path: [...path, "sources"], message: "is required", code: "REQUIRED" }));
}

/** Sources with the same upstream count once, as does a repeated source. */
function quorumsCanBeReached({ oracle }: Draft): Finding[] {
  if (!oracle) return [];
  return feeds(oracle).flatMap(({ feed: { quorum, sources }, path }) => {
    const voices = new Set(sources?.map(({ use }) => oracle.sources[use]?.upstream ?? use)).size;
    if (quorum === undefined || !sources || quorum <= voices) return [];
    const message = `must be at most the number of independent sources, ${voices} (got ${quorum})`;
    return [{ path: [...path, "quorum"], message, code: "OUT_OF_RANGE" }];
  });
}

function feeds({ venues }: TenantFile["oracle"]) {
  return Object.entries(venues).flatMap(([venue, instruments]) =>
    Object.entries(instruments).map(([name, feed]) => ({ venue, feed, path: ["oracle", "venues", venue, name] })),
  );
}

function repeated(entries: readonly { name: string; path: Path }[]): Finding[] {
  const seen = new Set<string>();
  return entries.flatMap(({ name, path }) => {
    if (seen.has(name))
      return [{ path, message: `must be unique: ${JSON.stringify(name)} is already used above`, code: "CONFLICT" }];
    seen.add(name);
    return [];
  });
}

/** Text in the tenant's colours, on top of the built-in ones, must be readable in both schemes. */
export function themeIsReadable({ embed }: Partial<TenantFile>): Finding[] {
  const stated = embed?.theme.colors ?? {};
  return faintPairs(mergeColors(BUILT_IN.colors, stated)).map((pair) => {
    // The built-in colours are readable together, so the tenant stated one of the two.
    const token = stated[pair.foreground] === undefined ? pair.ground : pair.foreground;
    return { path: placeOf(stated, token, pair.scheme), message: faintText(pair), code: "LOW_CONTRAST" };
  });
}

/** The names of the sides must be visible, and no word may mean the other side. */
export function sidesAreNamed({ embed }: Partial<TenantFile>): Finding[] {
  return sideWordFaults(embed?.theme.words ?? {}).map(({ side, tag, reason }) => ({
    path: ["embed", "theme", "words", side, ...(tag === undefined ? [] : [tag])],
    message: reason,
  }));
}

function placeOf(stated: StatedColors, token: ColorToken, scheme: Scheme): Path {
  const path = ["embed", "theme", "colors", token];
  return typeof stated[token] === "object" ? [...path, scheme] : path;
}
