import { basename, dirname, resolve } from "node:path";
import type { z } from "zod";
import { feedCatalogue } from "../domain/feeds/feed.ts";
import { anchorFilesAreTheirOwn } from "./anchor-files.ts";
import { readConfigFile } from "./bounded-file.ts";
import { ConfigError, type Finding, fileProblem, type Problem } from "./config-error.ts";
import { onDemand } from "./on-demand.ts";
import { secretBounds } from "./operator-file.ts";
import type { Draft } from "./rules.ts";
import { decodeFile, guideTo, keepDecoded } from "./schema/files.ts";
import { secretsStayInBounds } from "./secrets/secret-rules.ts";
import type { Labels } from "./selection/selector.ts";
import type { TenantConfig } from "./tenant-config.ts";
import type { PlacedMarket } from "./tenant-files/market-files.ts";
import { LayeredSource } from "./yaml/layers.ts";

const marketFiles = onDemand<typeof import("./tenant-files/market-files.ts")>(
  import.meta.url,
  "./tenant-files/market-files",
);
const messageFiles = onDemand<typeof import("./tenant-files/message-files.ts")>(
  import.meta.url,
  "./tenant-files/message-files",
);
const rules = onDemand<typeof import("./rules.ts")>(import.meta.url, "./rules");
const tenantSchema = onDemand<typeof import("./schema/schema.ts")>(import.meta.url, "./schema/schema");

/** A tenant with the markets that its files declare. */
export interface Tenant {
  config: TenantConfig;
  markets: PlacedMarket[];
}

/**
 * Reads `tenants/<id>/tenant.yaml` and its market files, and checks its message files.
 *
 * @throws ConfigError with every problem of all files
 */
export function loadTenant(file: string): Tenant {
  const { config, draft, problems, source } = checkTenantFile(readConfigFile(file), file);
  const locate = (findings: readonly Finding[]) => source.problems(findings);
  const feeds = feedsThatSettle(draft);
  const patterns = draft.markets?.files ?? [];
  const { markets, problems: ofMarkets } = marketFiles().checkMarketFiles(dirname(file), patterns, { locate, feeds });
  const { directory, roots } = source;
  const { locale, messages = {} } = draft.embed ?? {};
  const { checkMessageFiles, unknownLocale } = messageFiles();
  const ofMessages = [
    ...locate(unknownLocale(locale, messages)),
    ...checkMessageFiles(messages, { directory, roots, locate }).problems,
  ];
  if (!config || ofMarkets.length > 0 || ofMessages.length > 0)
    throw new ConfigError([...problems, ...ofMarkets, ...ofMessages]);
  return { config, markets };
}

/** The keys of a tenant's feeds; undefined with a custom oracle, which has names of its own. */
export function feedsThatSettle({ oracle, policy }: Pick<Draft, "oracle" | "policy">): string[] | undefined {
  return oracle && !policy?.resolution_url ? [...feedCatalogue(oracle.venues).keys()] : undefined;
}

/**
 * Reads the tenant file without its market files.
 *
 * @throws ConfigError with every problem of the file
 */
export function loadTenantFile(file: string): TenantConfig {
  return parseTenantFile(readConfigFile(file), file);
}

/**
 * Like {@link loadTenantFile} for a text that is already read.
 *
 * @param file the text's path; the text must name the same tenant as its folder
 */
export function parseTenantFile(text: string, file: string): TenantConfig {
  const { config, problems } = checkTenantFile(text, file);
  if (!config) throw new ConfigError(problems);
  return config;
}

/**
 * The labels of a tenant file, regardless of problems in its other sections.
 *
 * @throws ConfigError with every problem of a file with unreadable labels
 */
export function readLabels(file: string): Labels {
  const { draft, problems } = checkTenantFile(readConfigFile(file), file);
  if (!draft.labels) throw new ConfigError(problems);
  return draft.labels;
}

interface CheckedTenant {
  /** Undefined where there are problems. */
  config?: TenantConfig;
  /** The sections that the schema accepts, even if others have problems. */
  draft: Draft;
  problems: readonly Problem[];
  source: LayeredSource;
}

/** All findings about a tenant file. */
function checkTenantFile(text: string, file: string): CheckedTenant {
  const guide = guideTo("tenant");
  const directory = resolve(dirname(file));
  const tenant = basename(directory);
  const bounds = secretBounds(directory, tenant);
  const source = new LayeredSource(text, file, guide, bounds.roots);
  if (source.syntaxProblems.length > 0) return { draft: {}, problems: source.syntaxProblems, source };
  if (source.value === null)
    return {
      draft: {},
      problems: [fileProblem(source.file, "is empty; `pmctl init` writes one to start from")],
      source,
    };

  const { data, findings = [], isKnown } = decodeFile("tenant", source);
  const draft: Draft = data ?? soundSections(source.value);
  const misplaced = tenantIsItsFolder(draft, tenant);
  findings.push(
    // The secrets are checked only if the file belongs to the folder's tenant.
    ...(misplaced.length > 0 ? misplaced : secretsStayInBounds(draft, { directory, tenant, bounds })),
    // What is known kept the rules when it was read: they depend on nothing but the draft.
    ...(isKnown ? [] : rules().RULES.flatMap((rule) => rule(draft))),
    ...anchorFilesAreTheirOwn(draft, file, source),
  );
  if (!data || findings.length > 0) return { draft, problems: source.problems(findings), source };
  source.keep();
  keepDecoded("tenant", source.sha256, data);
  const config = { ...data, name: data.name ?? tenant, rateLimit: rateLimitOf(data, source.value), source };
  return { config, draft, problems: [], source };
}

/** A sandbox's pages, programs and curl share one address. */
const SANDBOX_PER_MINUTE = 600;

function rateLimitOf(
  { sandbox, rateLimit }: Pick<TenantConfig, "sandbox" | "rateLimit">,
  stated: unknown,
): TenantConfig["rateLimit"] {
  const own = (stated as { rateLimit?: { perMinute?: unknown } }).rateLimit?.perMinute;
  return sandbox && own === undefined ? { ...rateLimit, perMinute: SANDBOX_PER_MINUTE } : rateLimit;
}

/** The sections that are valid on their own, so that one bad value does not hide the findings of rules elsewhere. */
function soundSections(value: unknown): Draft {
  if (typeof value !== "object" || value === null) return {};
  const sections = Object.entries<z.ZodType>(tenantSchema().TenantFileSchema.shape).flatMap(([name, schema]) => {
    const parsed = schema.safeParse((value as Record<string, unknown>)[name]);
    return parsed.success ? [[name, parsed.data]] : [];
  });
  return Object.fromEntries(sections) as Draft;
}

/** Without this check, a copied folder whose file still names the old tenant would write to the old tenant's database. */
function tenantIsItsFolder({ tenant }: Draft, folder: string): Finding[] {
  if (tenant === undefined || tenant === folder) return [];
  return [
    {
      path: ["tenant"],
      message: `must be the name of its folder, ${JSON.stringify(folder)} (got ${JSON.stringify(tenant)})`,
    },
  ];
}
