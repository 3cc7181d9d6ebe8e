import { resolve } from "node:path";
import type { InboundEndpoint, InboundScheme } from "../contract/resources/webhooks.ts";
import { Fault } from "../domain/fault.ts";
import type { Scope } from "../domain/scopes.ts";
import { ConfigError, type Finding, type Path } from "./config-error.ts";
import { ALLOW_EXEC, type Environment } from "./environment.ts";
import { statedTargets } from "./schema/audit-schema.ts";
import type { SecretReference } from "./schema/scalars.ts";
import { inboundSecretsOf } from "./secrets/inbound-secrets.ts";
import { resolutionSecretsOf } from "./secrets/resolution-secrets.ts";
import { type PlacedValue, placedValue, valueFindings, valuesAtHand, valuesOfOthers } from "./secrets/secret-values.ts";
import { resolveSecret } from "./secrets/secrets.ts";
import type { TenantConfig } from "./tenant-file.ts";

export type KycProvider = NonNullable<NonNullable<TenantConfig["webhooks"]["inbound"]["kyc"]>["provider"]>;

/** What the generic webhooks of one endpoint are verified with. */
export interface ResolvedEndpoint {
  secrets: string[];
  scheme: InboundScheme;
}

export interface ResolvedKey {
  type: "admin" | "public";
  name: string;
  value: string;
  scopes: readonly Scope[];
  /** CIDR ranges; none is anywhere. */
  from: readonly string[];
  /** Milliseconds since 1970; undefined for never. */
  expires: number | undefined;
}

/** A key whose value may be elsewhere. */
export type KeyAtHand = Omit<ResolvedKey, "value"> & { value: string | undefined };

export type ResolvedJwt = (
  | { algorithm: "HS256"; secret: string; previous: string[] }
  /** `url` is to be fetched; `file` is absolute. */
  | { algorithm: "ES256" | "EdDSA" | "RS256"; jwks: { url: string } | { file: string } }
) & { issuer: string | undefined; audience: string | undefined };

/** A place of anchors. `file` is absolute. */
export type ResolvedAnchorTarget =
  | { kind: "file"; file: string }
  | { kind: "exec"; argv: string[]; directory: string; environment: Environment }
  /** The current secret first. */
  | { kind: "url"; url: string; secrets: string[] };

/** Everything secret that serving and applying need, in place of the references. Never log it. */
export interface TenantSecrets {
  keys: ResolvedKey[];
  jwt: ResolvedJwt;
  auditKey: string;
  /** Keys that sealed earlier entries. */
  previousAuditKeys: string[];
  /** Where anchors of the log are kept, in the file's order. */
  anchors: ResolvedAnchorTarget[];
  /** The connection string of the login that serves; undefined for the embedded database. */
  databaseUrl: string | undefined;
  webhooks: {
    inbound: Record<InboundEndpoint, ResolvedEndpoint>;
    stripe: string[];
    /** The identity provider that signs in its own way; undefined for none. */
    kyc: { provider: KycProvider; secrets: string[] } | undefined;
    /** Signing secrets by the webhook's name, the current one first. */
    outbound: Record<string, string[]>;
  };
  /** Sign requests to `resolution_url`: those of `oracle`, else the shared ones of inbound webhooks. */
  resolutionSecrets: string[];
  /** Request headers by source name. */
  sourceHeaders: Record<string, Record<string, string>>;
  /** Parameters of addresses by source name. */
  sourceQueries: Record<string, Record<string, string>>;
}

/**
 * Resolves every reference of a tenant.
 *
 * @throws ConfigError with all that are missing, of another shape than their place wants, or used twice, each at its place
 */
export function resolveTenant(config: TenantConfig, environment: Environment): TenantSecrets {
  const findings: Finding[] = [];
  const { auth, audit, database, webhooks, oracle, source } = config;
  const values: PlacedValue[] = [];
  const secret = resolver(config, environment, { findings, values });
  const list: ResolveList = (references, path) =>
    references.map((reference, index) => secret(reference, [...path, index]));

  const { kyc } = webhooks.inbound;
  const shared = list(webhooks.inbound.secrets, ["webhooks", "inbound", "secrets"]);
  const endpoint = (name: InboundEndpoint): ResolvedEndpoint => {
    const { references, path, isShared } = inboundSecretsOf(config, name);
    return {
      secrets: isShared ? shared : list(references, path),
      scheme: webhooks.inbound[name]?.scheme ?? "any",
    };
  };
  const resolved: TenantSecrets = {
    keys: resolveKeys(config, secret),
    jwt: resolveJwt(auth.jwt, source.directory, secret, list),
    auditKey: secret(audit.key, ["audit", "key"]),
    previousAuditKeys: list(audit.previous, ["audit", "previous"]),
    anchors: resolveAnchors(config, environment, { secret, list, findings }),
    databaseUrl: database === "embedded" ? undefined : secret(database.url, ["database", "url"]),
    webhooks: {
      inbound: { kyc: endpoint("kyc"), payments: endpoint("payments"), oracle: endpoint("oracle") },
      stripe: list(webhooks.inbound.stripe, ["webhooks", "inbound", "stripe"]),
      kyc: kyc?.provider && {
        provider: kyc.provider,
        secrets: list(kyc.secrets ?? [], ["webhooks", "inbound", "kyc", "secrets"]),
      },
      outbound: Object.fromEntries(
        webhooks.outbound.map(({ name, secret: reference, previousSecrets }, index) => {
          const path = ["webhooks", "outbound", index];
          const current = secret(reference, [...path, "secret"]);
          return [name, [current, ...list(previousSecrets, [...path, "previousSecrets"])]];
        }),
      ),
    },
    resolutionSecrets: resolutionSecretsOf(config).map(({ reference, path }) => secret(reference, path)),
    sourceHeaders: resolveHeaders(oracle, secret),
    sourceQueries: resolveQueries(oracle, secret),
  };
  refuse(config, [...findings, ...findingsAtHand(config, environment, values)]);
  return resolved;
}

/**
 * Resolves the connection string of the database's owner: apart from the others, because a server has no need of it, and
 * its machine need not know it. Undefined where the login that serves is the owner.
 *
 * @throws ConfigError when it is missing
 */
export function resolveOwnerUrl(config: TenantConfig, environment: Environment): string | undefined {
  const { database } = config;
  if (database === "embedded" || database.ownerUrl === undefined) return undefined;
  const findings: Finding[] = [];
  const url = resolver(config, environment, { findings, values: [] })(database.ownerUrl, ["database", "ownerUrl"]);
  refuse(config, findings);
  return url;
}

/**
 * Resolves a tenant's API keys and nothing else: what an apply needs of a tenant whose server keeps the other secrets.
 *
 * @throws ConfigError with all that are missing or cannot be used
 */
export function resolveTenantKeys(config: TenantConfig, environment: Environment): ResolvedKey[] {
  const findings: Finding[] = [];
  const values: PlacedValue[] = [];
  const keys = resolveKeys(config, resolver(config, environment, { findings, values }));
  refuse(config, [...findings, ...findingsAtHand(config, environment, values)]);
  return keys;
}

/**
 * The same for a plan, which goes on without the values that are not at hand: a job that only plans holds none but the
 * key that it reads with.
 *
 * @throws ConfigError with all that are at hand and cannot be used
 */
export function tenantKeysAtHand(config: TenantConfig, environment: Environment): KeyAtHand[] {
  const values: PlacedValue[] = [];
  const keys = resolveKeys(config, resolver(config, environment, { findings: [], values }));
  refuse(config, findingsAtHand(config, environment, values));
  return keys.map(({ value, ...key }) => ({ ...key, value: value === "" ? undefined : value }));
}

/**
 * Checks the secrets of a tenant that can be had without running anything, against each other and those of other tenants.
 *
 * @throws ConfigError with all that are of another shape than their place wants, or used twice
 */
export function checkSecretsAtHand(config: TenantConfig, environment: Environment): void {
  refuse(config, findingsAtHand(config, environment));
}

function findingsAtHand(config: TenantConfig, environment: Environment, known: readonly PlacedValue[] = []): Finding[] {
  const isKnown = new Set(known.map(({ place }) => place));
  const more = valuesAtHand(config, environment).filter(({ place }) => !isKnown.has(place));
  return valueFindings([...known, ...more], valuesOfOthers(config, environment));
}

function refuse({ source }: TenantConfig, findings: readonly Finding[]): void {
  if (findings.length > 0) throw new ConfigError(source.problems(findings));
}

function resolveKeys({ keys }: TenantConfig, secret: Resolve): ResolvedKey[] {
  const entries = [
    ...keys.admin.map((key, index) => ({ ...key, type: "admin" as const, index })),
    ...keys.public.map((key, index) => ({ ...key, type: "public" as const, scopes: [], index })),
  ];
  return entries.map(({ type, name, secret: reference, scopes, from, expires, index }) => {
    return { type, name, value: secret(reference, ["keys", type, index, "secret"]), scopes, from, expires };
  });
}

/** Resolves references, and notes what it finds. */
function resolver(
  config: TenantConfig,
  environment: Environment,
  notes: { findings: Finding[]; values: PlacedValue[] },
) {
  const { directory, roots } = config.source;
  const { findings, values } = notes;
  const resolve: Resolve = (reference, path) => {
    try {
      const value = resolveSecret(reference, { environment, directory, roots });
      values.push(placedValue(config, path, value));
      return value;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      findings.push({ path, message: error.message });
      return "";
    }
  };
  return resolve;
}

/** Resolves one reference; when it cannot, notes that and gives an empty text. */
type Resolve = (reference: SecretReference, path: Path) => string;
/** The same for a list that stands at a place. */
type ResolveList = (references: readonly SecretReference[], path: Path) => string[];

function resolveJwt(
  jwt: TenantConfig["auth"]["jwt"],
  directory: string,
  secret: Resolve,
  list: ResolveList,
): ResolvedJwt {
  const { issuer, audience } = jwt;
  if (jwt.algorithm === "HS256")
    return {
      algorithm: jwt.algorithm,
      secret: secret(jwt.secret, ["auth", "jwt", "secret"]),
      previous: list(jwt.previous, ["auth", "jwt", "previous"]),
      issuer,
      audience,
    };
  const jwks = "url" in jwt.jwks ? jwt.jwks : { file: resolve(directory, jwt.jwks.file) };
  return { algorithm: jwt.algorithm, jwks, issuer, audience };
}

/** A tenant file may come with a stranger's pull request, so its programs run only with `--allow-exec`. */
function resolveAnchors(
  { audit, source }: TenantConfig,
  environment: Environment,
  { secret, list, findings }: { secret: Resolve; list: ResolveList; findings: Finding[] },
): ResolvedAnchorTarget[] {
  const { directory } = source;
  return statedTargets(audit).map(({ target, path }): ResolvedAnchorTarget => {
    if ("file" in target) return { kind: "file", file: resolve(directory, target.file) };
    if ("url" in target) {
      const current = secret(target.secret, [...path, "secret"]);
      const previous = list(target.previousSecrets, [...path, "previousSecrets"]);
      return { kind: "url", url: target.url, secrets: [current, ...previous] };
    }
    if (environment[ALLOW_EXEC] !== "1")
      findings.push({
        path: [...path, "exec"],
        message: "anchors go to a program: add --allow-exec to let pmctl run it",
      });
    return { kind: "exec", argv: target.exec, directory, environment };
  });
}

/** The files among the places of anchors, absolute: what they hold is known of the log. */
export function anchorFilesOf({ audit, source }: TenantConfig): string[] {
  return statedTargets(audit).flatMap(({ target }) =>
    "file" in target ? [resolve(source.directory, target.file)] : [],
  );
}

function resolveHeaders({ sources }: TenantConfig["oracle"], secret: Resolve): TenantSecrets["sourceHeaders"] {
  return Object.fromEntries(
    Object.entries(sources).map(([source, { headers = {} }]) => {
      const values = Object.entries(headers).map(([name, value]) => [
        name,
        typeof value === "string" ? value : secret(value, ["oracle", "sources", source, "headers", name]),
      ]);
      return [source, Object.fromEntries(values)];
    }),
  );
}

function resolveQueries({ sources }: TenantConfig["oracle"], secret: Resolve): TenantSecrets["sourceQueries"] {
  return Object.fromEntries(
    Object.entries(sources).map(([source, { query = {} }]) => [
      source,
      Object.fromEntries(
        Object.entries(query).map(([name, value]) => [
          name,
          secret(value, ["oracle", "sources", source, "query", name]),
        ]),
      ),
    ]),
  );
}
