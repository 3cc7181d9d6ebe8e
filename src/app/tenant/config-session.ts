import { auditLinesOf } from "../../client/audit-lines.ts";
import { httpApi } from "../../client/http-api.ts";
import { type LocalKey, localApi } from "../../client/local-api.ts";
import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment, readKey } from "../../config/environment.ts";
import { type KeyAtHand, type ResolvedKey, resolveTenantKeys, tenantKeysAtHand } from "../../config/resolve-tenant.ts";
import type { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import type { Api } from "../../contract/operations.ts";
import { hashApiKey, keyFingerprint } from "../../domain/access/api-key.ts";
import type { RelativeTimes } from "../../domain/access/idempotency.ts";
import type { Scope } from "../../domain/access/scopes.ts";
import { Fault } from "../../domain/fault.ts";
import { type Lease, readLeases } from "../../ledger/unchained/leases.ts";
import type { LiveConfig } from "../../plan/plan-types.ts";
import { openLogLines } from "../../services/audit/audit-lines.ts";
import type { OracleSetup } from "../../services/oracle/feeds.ts";
import { type OwnedDatabase, openIfApplied, prepareDatabase } from "../../services/tenant/provision.ts";
import { ofOurLog, openTenant, type TenantServices } from "../../services/tenant/tenant.ts";
import type { LogText } from "../audit/walk-log.ts";
import { checkReason, operatorActor, type Recording } from "./actor.ts";
import { localKey } from "./admin-key.ts";
import { type DoorOptions, openDoor, type ServerDoor } from "./door.ts";
import { type DeclaredTenant, readDeclaredTenant } from "./operator-tenant.ts";
import { type ReadyTenant, readyTenant } from "./tenant-database.ts";
import { tenantFeeds } from "./tenant-oracle.ts";
import { commandOptions } from "./tenant-services.ts";

/** The live configuration, and the operations that change it. */
export interface LiveTenant {
  api: Api;
  config: LiveConfig;
  /** Scopes of the admin key in use; undefined at the database, where scopes do not apply. */
  scopes?: readonly Scope[] | undefined;
  /** The actor of changes on record; undefined for a key that is not in the configuration. */
  actor?: string | undefined;
  /** The audit log after an entry, as texts of whole lines. */
  logText: LogText;
  /** Which servers are running; undefined over HTTP, where one answers. */
  leases?: () => Promise<readonly Lease[]>;
}

/** Reads the live configuration. A document from another version may lack sections; only the planner's type says so. */
export async function readLive(api: Api): Promise<LiveConfig> {
  return (await api.getConfig({})) as LiveConfig;
}

/** A tenant's files, and access to its live configuration over HTTP or at its database. */
export interface ConfigSession extends DeclaredTenant {
  /** The feeds of the files. */
  feeds: OracleSetup;
  /** @throws ConfigError naming the keys whose values are missing */
  keys(): readonly ResolvedKey[];
  /** For a plan, which only compares: over HTTP with `--key` or the read key, values of other keys may be missing. */
  keysAtHand(): readonly KeyAtHand[];
  /** Undefined for a tenant that was never applied: its database is missing or empty. */
  open(): Promise<LiveTenant | undefined>;
  /** @throws Fault when no available login owns the database, so that no apply is possible */
  requireOwner(): Promise<void>;
  /** Creates or migrates the database first, then opens it. Over HTTP the server has done both. */
  prepare(): Promise<LiveTenant & { migrations: string[] }>;
  close(): Promise<void>;
}

export interface ConfigSessionOptions extends DoorOptions {
  reason?: string | undefined;
  idempotencyKey?: string | undefined;
  relativeTimes?: RelativeTimes | undefined;
  /** The other tenants' secrets, which a command on many tenants shares; read by each session unless given. */
  others?: DirectorySecrets | undefined;
}

/**
 * Opens a tenant for a command about its configuration. A server of this machine that does not know the file's admin
 * key is skipped with a note, because the key may be new in the file. With `--url`, `--via http` or `--key` the command
 * ends instead: at the database it could do more than the key's scopes allow.
 *
 * @throws Fault REFUSED when the server belongs to another tenant
 */
export async function openConfigSession(
  directory: string,
  id: string,
  options: ConfigSessionOptions,
  { note, onSealed }: Pick<Recording, "onSealed"> & { note: (message: string) => void },
): Promise<ConfigSession> {
  const { idempotencyKey, relativeTimes } = options;
  const recording = { reason: checkReason(options.reason), idempotencyKey, relativeTimes, onSealed };
  const tenant = readDeclaredTenant(directory, id);
  const door = await openDoor(tenant, options, note);
  if (door.kind === "http") {
    const live = await liveOver(door, id, { ...recording, mayPassBy: !door.asked && options.key === undefined, note });
    if (live) return overHttp(tenant, live, options);
  }
  return overDatabase(await readyTenant(tenant, options.others), recording, localKey(tenant, options));
}

/** The configuration from a server; undefined for a server that is skipped. */
async function liveOver(
  { url, access }: ServerDoor,
  tenant: string,
  { mayPassBy, note, ...recording }: Recording & { mayPassBy: boolean; note: (message: string) => void },
): Promise<LiveTenant | undefined> {
  const api = httpApi({ ...access, ...recording });
  const config = await readLive(api).catch((error: unknown) => {
    if (!mayPassBy || !(error instanceof Fault) || error.code !== "KEY_INVALID") throw error;
    note(`The server at ${url} does not know the file's admin key: going straight to the database`);
  });
  if (!config) return undefined;
  if (config.tenant !== tenant)
    throw new Fault("REFUSED", `${url} serves the tenant ${config.tenant}, not ${tenant}; nothing was written`);
  const fingerprint = keyFingerprint(hashApiKey(access.apiKey));
  const inUse = config.keys.find((each) => each.type === "admin" && each.fingerprint === fingerprint);
  const actor = inUse && `admin:${inUse.name}`;
  return { api, config, scopes: inUse?.scopes, actor, logText: (after) => auditLinesOf(access, after) };
}

/** With `--key` or the read key, a job need not have the values of the other keys. */
function overHttp(
  tenant: DeclaredTenant,
  live: LiveTenant,
  { key, others }: Pick<ConfigSessionOptions, "key" | "others">,
): ConfigSession {
  const { id, config, directory } = tenant;
  const environment = loadEnvironment(directory);
  const keys = () => resolveTenantKeys(config, environment, others);
  const holdsAll = key === undefined && readKey(id, environment) === undefined;
  return {
    ...tenant,
    feeds: tenantFeeds(config),
    keys,
    keysAtHand: holdsAll ? keys : () => tenantKeysAtHand(config, environment, others),
    open: async () => live,
    requireOwner: async () => {},
    prepare: async () => ({ ...live, migrations: [] }),
    close: async () => {},
  };
}

/** A session at the tenant's database. */
export function overDatabase(
  ready: ReadyTenant,
  { reason, onSealed }: Recording,
  repeatable?: LocalKey,
): ConfigSession {
  const { secrets, database, openAsOwner, ...tenant } = ready;
  let owned: Promise<OwnedDatabase> | undefined;
  const asOwner = () => {
    owned ??= openAsOwner();
    return owned;
  };
  const auditSecrets = [secrets.auditKey, ...secrets.previousAuditKeys] as const;
  const options = commandOptions(tenant, database.connection, auditSecrets);
  const services: TenantServices[] = [];
  const kept = (opened: TenantServices): TenantServices => {
    services.push(opened);
    return opened;
  };
  const live = async (opened: TenantServices): Promise<LiveTenant> => {
    const api = localApi(opened.handlers, { reason, onSealed, actor: operatorActor() }, repeatable);
    return {
      api,
      config: await readLive(api),
      actor: operatorActor(),
      logText: async (after) => (await openLogLines(opened.checks, { after })).pages,
      leases: () => opened.pool.read(readLeases),
    };
  };
  return {
    ...tenant,
    feeds: options.oracle,
    keys: () => secrets.keys,
    keysAtHand: () => secrets.keys,
    open: async () => {
      const opened = await openIfApplied(options, async (refusal) => {
        const { connection } = await asOwner().catch((error: unknown) => {
          throw withoutOwner(refusal, error);
        });
        return connection;
      });
      return opened && live(kept(await ofOurLog(opened)));
    },
    requireOwner: async () => {
      await asOwner();
    },
    prepare: async () => {
      const owner = await asOwner();
      const migrations = await prepareDatabase(owner, options.requiredStandbys);
      const opened = kept(await ofOurLog(await openTenant({ ...options, connection: owner.connection })));
      return { ...(await live(opened)), migrations };
    },
    close: async () => {
      for (const opened of services.splice(0)) await opened.close();
    },
  };
}

/** Neither login can read the database: the server's has no rights in it, and the owner's is not available. */
function withoutOwner(refusal: Fault, cause: unknown): unknown {
  if (!(cause instanceof ConfigError)) return cause;
  const lacking = cause.problems.map(({ path, message }) => `${path} ${message}`).join("; ");
  const told = `${refusal.message}. To plan before that, pmctl needs the owner's login: ${lacking}`;
  return new Fault(refusal.code, told, { cause });
}
