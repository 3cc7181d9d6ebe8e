import { userInfo } from "node:os";
import { eventSource } from "../../client/event-source.ts";
import { httpApi } from "../../client/http-api.ts";
import type { Api } from "../../contract/operations.ts";
import type { StreamEvent } from "../../contract/resources/stream.ts";
import type { Seal } from "../../domain/audit/audit-link.ts";
import { wallClockMs } from "../../domain/clock.ts";
import { Fault } from "../../domain/fault.ts";
import { isLoopback } from "../../domain/networks.ts";
import { unplainIn } from "../../domain/text.ts";
import type { TenantServices } from "../../services/tenant/tenant.ts";
import { chooseDoor, type HttpDoor, type Via } from "../doors/doors.ts";
import { tenantFetch } from "../doors/trust.ts";
import { adminKey, indexOfKey } from "./admin-key.ts";
import { auditSecretsOf, databaseUrlOf, type OperatorTenant, readOperatorTenant } from "./operator-tenant.ts";
import { mintUserToken, requireUserId } from "./user-token.ts";

export interface SessionOptions {
  tenant?: string | undefined;
  via: Via;
  url?: string | undefined;
  /** The admin key of the tenant file that is used over HTTP. */
  key?: string | undefined;
  reason?: string | undefined;
}

/** A tenant, opened for one command through one of the two doors. */
export interface Session {
  readonly tenant: OperatorTenant;
  /** The tenant's services in this process; undefined when the command goes over HTTP. */
  readonly services: TenantServices | undefined;
  /** The operations, as the operator or on behalf of a user; with a `policyTtlSec` changes of the policy end by themselves. */
  api(userId?: string, options?: { policyTtlSec?: number | undefined }): Api;
  /** What happens in these markets, or in all open ones, until the signal is given. */
  events(markets: readonly string[] | undefined, signal: AbortSignal): AsyncIterable<StreamEvent>;
  /** The keys of the audit chain from the tenant's secrets, the current one first. */
  auditSecrets(): string[];
  close(): Promise<void>;
}

/** Long enough for one command, its waits for the rate limit included. */
const TOKEN_LIFETIME_MS = 5 * 60_000;
const LONGEST_REASON = 500;

/**
 * Opens the tenant that a command means.
 *
 * @param note told what a command waits for
 * @param onReceipt told of each audit entry that the command writes
 * @throws Fault when the tenant, a secret that this door needs, or the door itself is missing
 */
export async function openSession(
  options: SessionOptions,
  note: (message: string) => void,
  onReceipt: (tenant: string, seal: Seal) => void = () => {},
): Promise<Session> {
  const reason = checkReason(options.reason);
  const tenant = readOperatorTenant(options.tenant);
  const door = await chooseDoor(tenant, options.via, options.url, note, () => adminKey(tenant, options.key).secretName);
  const onSealed = (seal: Seal) => onReceipt(tenant.id, seal);
  const { key } = options;
  if (door.kind === "db") {
    noteUnusedKey(tenant, key, note);
    return openDatabaseSession(tenant, reason, { note, onSealed });
  }
  const server = await serverAccess(tenant, { door, key }, note);
  return {
    tenant,
    services: undefined,
    api: (userId, { policyTtlSec } = {}) =>
      httpApi({
        ...server,
        reason,
        policyTtlSec,
        onSealed,
        userToken: userId === undefined ? undefined : () => userToken(tenant, userId),
      }),
    events: (markets, signal) => eventSource({ ...server, markets, signal }),
    auditSecrets: () => auditSecretsOf(tenant),
    close: async () => {},
  };
}

/** What the operator of a tenant talks to its server with; `note` is told who else may read the key on its way. */
export async function serverAccess(
  tenant: OperatorTenant,
  { door, key }: { door: HttpDoor; key: string | undefined },
  note: (message: string) => void,
) {
  const { url } = door;
  const { value: apiKey } = adminKey(tenant, key);
  if (isReadableOnTheWay(url)) note("The admin key travels unencrypted: this address begins with http://");
  return { url, apiKey, fetch: await tenantFetch(tenant, door), onWait: note };
}

/** Plain HTTP that leaves this machine. */
function isReadableOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname);
}

async function userToken(tenant: OperatorTenant, userId: string): Promise<string> {
  return (await mintUserToken(tenant, userId, TOKEN_LIFETIME_MS, wallClockMs())).token;
}

/** Straight at the database no key is asked for, and the file's owner may do everything. */
export function noteUnusedKey(tenant: OperatorTenant, key: string | undefined, note: (message: string) => void): void {
  if (key === undefined) return;
  indexOfKey(tenant, key);
  note(`Straight to the database: the key ${key} has no part in this, and nothing is kept to its scopes`);
}

async function openDatabaseSession(
  tenant: OperatorTenant,
  reason: string | undefined,
  { note, onSealed }: { note: (message: string) => void; onSealed: (seal: Seal) => void },
): Promise<Session> {
  const { id, directory, config } = tenant;
  // Before the database is started: a missing secret is the quicker and the clearer answer.
  const auditSecrets = auditSecretsOf(tenant);
  const [auditSecret, ...previousAuditSecrets] = auditSecrets;
  const databaseUrl = databaseUrlOf(tenant);
  const [
    { openDatabase },
    { openTenant },
    { localApi },
    { localEvents },
    { tenantFeeds },
    { onMismatch },
    { anchorPlaces },
  ] = await Promise.all([
    import("./database.ts"),
    import("../../services/tenant/tenant.ts"),
    import("../../client/local-api.ts"),
    import("../../client/local-events.ts"),
    import("./tenant-oracle.ts"),
    import("../../services/answers.ts"),
    import("./anchor-sources.ts"),
  ]);
  const { connection } = await openDatabase(directory, id, databaseUrl);
  const services = await openTenant({
    tenantId: id,
    connection,
    auditSecret,
    previousAuditSecrets,
    oracle: tenantFeeds(config),
    readers: 2,
    anchors: anchorPlaces(tenant),
  });
  const stopNoting = onMismatch(({ operation, problem }) =>
    note(`The answer of ${operation} is not what the contract says (${problem}); it is shown as well as it can be`),
  );
  const actor = operatorActor();
  return {
    tenant,
    services,
    api: (userId, { policyTtlSec } = {}) =>
      localApi(services.handlers, {
        actor,
        reason,
        onSealed,
        policyTtlMs: policyTtlSec === undefined ? undefined : policyTtlSec * 1000,
        user: userId === undefined ? undefined : { id: requireUserId(userId) },
      }),
    events: (markets, signal) => localEvents(services, { markets, signal }),
    auditSecrets: () => auditSecrets,
    close: async () => {
      stopNoting();
      await services.close();
    },
  };
}

/** The server takes no other reason, so the database gets no other either. */
export function checkReason(reason: string | undefined): string | undefined {
  if (reason === undefined || reason === "") return undefined;
  if (reason.length > LONGEST_REASON)
    throw new Fault("USAGE", `--reason must have at most ${LONGEST_REASON} characters (got ${reason.length})`);
  const unplain = unplainIn(reason);
  if (unplain !== undefined) throw new Fault("USAGE", `--reason must be one line of plain text: it holds ${unplain}`);
  return reason;
}

/** Who acts straight on the database. */
export function operatorActor(): string {
  return `cli:${operatorName()}`;
}

/** The operating system's user. A container may run as a number that has no name. */
function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? "unknown"}`;
  }
}
