import { resolve } from "node:path";
import type { InboundEndpoint } from "../contract/constants.ts";
import type { Scope } from "../domain/access/scopes.ts";
import { Fault } from "../domain/fault.ts";
import { ConfigError, type Finding } from "./config-error.ts";
import { ALLOW_EXEC, type Environment } from "./environment.ts";
import { type StatedTarget, statedTargets } from "./schema/anchor-places.ts";
import type { StatedDatabaseUrl } from "./schema/database-schema.ts";
import type { SecretReference } from "./schema/scalars.ts";
import { databaseUrl } from "./secrets/database-url.ts";
import { inboundSecretsOf, resolutionSecretsOf, secretPlaces } from "./secrets/secret-places.ts";
import { programEnvironment } from "./secrets/secret-programs.ts";
import {
  type DirectorySecrets,
  type PlacedValue,
  placedValue,
  secretsAround,
  valueFindings,
  valuesAtHand,
} from "./secrets/secret-values.ts";
import { resolveSecret } from "./secrets/secrets.ts";
import type { TenantConfig } from "./tenant-config.ts";

/** A tenant's secrets with their values, for serving and applying. Never log them. */
export type TenantSecrets = ReturnType<typeof secretsOf>;
/** An API key with its value. `from` lists CIDR ranges, empty for anywhere; `expires` is in milliseconds since the epoch. */
export type ResolvedKey = ReturnType<typeof keysOf>[number];
/** An API key whose value may be missing on this machine. */
export type KeyAtHand = Omit<ResolvedKey, "value"> & { value: string | undefined };
/** How user tokens are verified. A key set's `url` is downloaded; its `file` is an absolute path. */
export type ResolvedJwt = TenantSecrets["jwt"];
/** Where anchors are stored. `file` is an absolute path; the current secret of a `url` comes first. */
export type ResolvedAnchorTarget = TenantSecrets["anchors"][number];

/**
 * Resolves every reference of a tenant.
 *
 * @param directory the other tenants' secrets, which a command on many tenants shares
 * @throws ConfigError with all missing, malformed or repeated secrets, each at its place
 */
export function resolveTenant(
  config: TenantConfig,
  environment: Environment,
  directory?: DirectorySecrets,
): TenantSecrets {
  const reader = new SecretReader(config, environment, directory);
  const secrets = secretsOf(config, reader);
  reader.refuse({ missing: true });
  return secrets;
}

/**
 * Resolves the connection string of the database's owner, which a server and its machine do not need. Undefined if the
 * serving login is the owner.
 *
 * @throws ConfigError if it is missing
 */
export function resolveOwnerUrl(config: TenantConfig, environment: Environment): string | undefined {
  const { database, source } = config;
  if (database === "embedded" || database.ownerUrl === undefined) return undefined;
  const reader = new SecretReader(config, environment);
  const url = reader.databaseUrl(database.ownerUrl, ["database", "ownerUrl"]);
  if (reader.findings.length > 0) throw new ConfigError(source.problems(reader.findings));
  return url;
}

/**
 * Resolves only a tenant's API keys: an apply over HTTP needs no other secret, and its machine may lack them.
 *
 * @throws ConfigError with all missing or unusable keys
 */
export function resolveTenantKeys(
  config: TenantConfig,
  environment: Environment,
  directory?: DirectorySecrets,
): ResolvedKey[] {
  const reader = new SecretReader(config, environment, directory);
  const keys = keysOf(config, reader);
  reader.refuse({ missing: true });
  return keys;
}

/**
 * Like {@link resolveTenantKeys}, but the value of a key missing on this machine is undefined: a planning job has only
 * its own key.
 *
 * @throws ConfigError with all malformed or repeated values
 */
export function tenantKeysAtHand(
  config: TenantConfig,
  environment: Environment,
  directory?: DirectorySecrets,
): KeyAtHand[] {
  const reader = new SecretReader(config, environment, directory);
  const keys = keysOf(config, reader);
  reader.refuse({ missing: false });
  return keys.map((key) => ({ ...key, value: key.value === "" ? undefined : key.value }));
}

/**
 * Checks a tenant's secrets that are known without running a program, including against the secrets of other tenants.
 *
 * @param directory as for {@link resolveTenant}
 * @throws ConfigError with all malformed or repeated secrets
 */
export function checkSecretsAtHand(config: TenantConfig, environment: Environment, directory?: DirectorySecrets): void {
  new SecretReader(config, environment, directory).refuse({ missing: false });
}

/**
 * Resolves the secrets for requests to sources, and for signing requests to `resolution_url`.
 *
 * @throws ConfigError with all missing or unusable secrets
 */
export function resolveOracleSecrets(config: TenantConfig, environment: Environment): OracleSecrets {
  const reader = new SecretReader(config, environment);
  const secrets = oracleSecretsOf(config, (reference) => reader.secret(reference));
  reader.refuse({ missing: true });
  return secrets;
}

/** Reads the secrets behind a tenant's references, each once, and collects findings about unreadable ones. */
class SecretReader {
  readonly findings: Finding[] = [];
  readonly environment: Environment;
  readonly #config: TenantConfig;
  readonly #directory: DirectorySecrets;
  readonly #paths: ReadonlyMap<SecretReference, Finding["path"]>;
  readonly #values = new Map<SecretReference, PlacedValue>();

  constructor(config: TenantConfig, environment: Environment, directory = secretsAround(config, environment)) {
    this.#config = config;
    this.environment = environment;
    this.#directory = directory;
    this.#paths = new Map(secretPlaces(config).map(({ reference, path }) => [reference, path]));
  }

  /** The value, or an empty text if there is none. */
  secret(reference: SecretReference): string {
    const known = this.#values.get(reference);
    if (known) return known.value;
    const path = this.#paths.get(reference) ?? [];
    const { directory, roots } = this.#config.source;
    try {
      const value = resolveSecret(reference, { environment: this.environment, directory, roots });
      this.#values.set(reference, placedValue(this.#config, path, value));
      return value;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.findings.push({ path, message: error.message, code: "MISSING_SECRET" });
      return "";
    }
  }

  list(references: readonly SecretReference[]): string[] {
    return references.map((reference) => this.secret(reference));
  }

  /** The connection string of a database, or an empty text if it is unusable. */
  databaseUrl(stated: StatedDatabaseUrl, path: Finding["path"]): string {
    const read = (reference: SecretReference) => this.secret(reference) || undefined;
    const { directory, roots } = this.#config.source;
    const { url = "", findings } = databaseUrl(stated, { path, directory, roots, read });
    this.findings.push(...findings);
    return url;
  }

  /**
   * @param missing whether an unreadable secret is a problem
   * @throws ConfigError with the problems of the secrets read, and of others known without a program
   */
  refuse({ missing }: { missing: boolean }): void {
    const read = [...this.#values.values()];
    const places = new Set(read.map(({ place }) => place));
    const others = valuesAtHand(this.#config, this.environment).filter(({ place }) => !places.has(place));
    const findings = [...(missing ? this.findings : []), ...valueFindings([...read, ...others], this.#directory)];
    if (findings.length > 0) throw new ConfigError(this.#config.source.problems(findings));
  }
}

function secretsOf(config: TenantConfig, reader: SecretReader) {
  const { auth, audit, database, source, webhooks } = config;
  const { stripe, kyc } = webhooks.inbound;
  const endpoint = (name: InboundEndpoint) => ({
    secrets: reader.list(inboundSecretsOf(config, name).references),
    scheme: webhooks.inbound[name]?.scheme ?? "any",
  });
  return {
    keys: keysOf(config, reader),
    jwt: jwtOf(auth, source.directory, reader),
    auditKey: reader.secret(audit.key),
    /** Keys that sealed earlier entries. */
    previousAuditKeys: reader.list(audit.previous),
    /** The targets of anchors, in the file's order. */
    anchors: statedTargets(audit).map((target) => anchorTarget(target, source.directory, reader)),
    /** The connection string of the login that serves; undefined for the embedded database. */
    databaseUrl: database === "embedded" ? undefined : reader.databaseUrl(database.url, ["database", "url"]),
    webhooks: {
      /** The secrets that verify each endpoint's generic webhooks. */
      inbound: { kyc: endpoint("kyc"), payments: endpoint("payments"), oracle: endpoint("oracle") },
      stripe: reader.list(stripe),
      /** The identity provider with its own signatures; undefined for none. */
      kyc: kyc?.provider && { provider: kyc.provider, secrets: reader.list(kyc.secrets ?? []) },
      /** Signing secrets by the webhook's name, the current one first. */
      outbound: byName(webhooks.outbound.map(({ name, ...stated }) => [name, signingSecrets(stated, reader)])),
    },
    ...oracleSecretsOf(config, (reference) => reader.secret(reference)),
  };
}

export type OracleSecrets = ReturnType<typeof oracleSecretsOf>;

/** The secrets of a tenant's oracle, each converted by `read`. */
export function oracleSecretsOf(config: TenantConfig, read: (reference: SecretReference) => string) {
  return {
    /** Secrets that sign requests to `resolution_url`: those of `oracle`, or else the shared inbound secrets. */
    resolutionSecrets: resolutionSecretsOf(config).map(({ reference }) => read(reference)),
    /** Request headers by source name. */
    sourceHeaders: ofSources(config.oracle, "headers", read),
    /** Query parameters by source name. */
    sourceQueries: ofSources(config.oracle, "query", read),
  };
}

function keysOf({ keys }: TenantConfig, reader: SecretReader) {
  const resolved = <Key extends { secret: SecretReference }>({ secret, ...key }: Key) => ({
    ...key,
    value: reader.secret(secret),
  });
  const noScopes: readonly Scope[] = [];
  return [
    ...keys.admin.map((key) => ({ ...resolved(key), type: "admin" as const })),
    ...keys.public.map((key) => ({ ...resolved(key), type: "public" as const, scopes: noScopes })),
  ];
}

function jwtOf({ jwt }: TenantConfig["auth"], directory: string, reader: SecretReader) {
  if (jwt.algorithm === "HS256")
    return { ...jwt, secret: reader.secret(jwt.secret), previous: reader.list(jwt.previous) };
  return { ...jwt, jwks: "url" in jwt.jwks ? jwt.jwks : { file: resolve(directory, jwt.jwks.file) } };
}

/** A tenant file may come with a stranger's pull request, so its programs run only with `--allow-exec`. */
function anchorTarget({ target, path }: StatedTarget, directory: string, reader: SecretReader) {
  if ("file" in target) return { kind: "file" as const, file: resolve(directory, target.file) };
  if ("url" in target) return { kind: "url" as const, url: target.url, secrets: signingSecrets(target, reader) };
  const { environment } = reader;
  if (environment[ALLOW_EXEC] !== "1")
    reader.findings.push({
      path: [...path, "exec"],
      message: "anchors go to a program: add --allow-exec to let pmctl run it",
    });
  return { kind: "exec" as const, argv: target.exec, directory, environment: programEnvironment(directory) };
}

/** The signing secrets, the current one first. */
function signingSecrets(
  { secret, previousSecrets }: { secret: SecretReference; previousSecrets: readonly SecretReference[] },
  reader: SecretReader,
): string[] {
  return reader.list([secret, ...previousSecrets]);
}

function ofSources(
  { sources }: TenantConfig["oracle"],
  part: "headers" | "query",
  read: (reference: SecretReference) => string,
) {
  return byName(
    Object.entries(sources).map(([name, { [part]: stated = {} }]) => [
      name,
      byName(Object.entries(stated).map(([key, value]) => [key, typeof value === "string" ? value : read(value)])),
    ]),
  );
}

function byName<Value>(entries: [name: string, value: Value][]): Record<string, Value> {
  return Object.fromEntries(entries);
}
