import { auditLinesOf } from "../../client/audit-lines.ts";
import { eventSource } from "../../client/event-source.ts";
import { httpApi } from "../../client/http-api.ts";
import type { LocalKey } from "../../client/local-api.ts";
import type { Api } from "../../contract/operations.ts";
import type { StreamEvent } from "../../contract/resources/stream.ts";
import type { RelativeTimes } from "../../domain/access/idempotency.ts";
import type { Seal } from "../../domain/audit/audit-link.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { TenantServices } from "../../services/tenant/tenant.ts";
import type { LogText } from "../audit/walk-log.ts";
import { checkReason, operatorActor, type Recording } from "./actor.ts";
import { localKey } from "./admin-key.ts";
import { type DoorOptions, openDoor, type ServerDoor } from "./door.ts";
import { auditSecretsOf, databaseUrlOf, type OperatorTenant, readOperatorTenant } from "./operator-tenant.ts";
import { rememberingValues } from "./remember-values.ts";
import { SeenValues } from "./seen-values.ts";

export interface SessionOptions extends DoorOptions {
  tenant?: string | undefined;
  reason?: string | undefined;
  idempotencyKey?: string | undefined;
  relativeTimes?: RelativeTimes | undefined;
  /** For a command that only copies the log: another log's audit key does not stop it. */
  anyAuditKey?: boolean | undefined;
}

/** A tenant, opened for one command through one of the two doors. */
export interface TenantSession {
  readonly tenant: OperatorTenant;
  /** The tenant's services in this process; undefined over HTTP. */
  readonly services: TenantServices | undefined;
  /** The operations, as the operator or on behalf of a user. */
  api(userId?: string, options?: ApiTerms): Api;
  /** The events of these markets, or of all open ones, until the signal is given. */
  events(markets: readonly string[] | undefined, signal: AbortSignal): AsyncIterable<StreamEvent>;
  /** The audit log after an entry, as texts of whole lines. */
  logText: LogText;
  close(): Promise<void>;
}

interface ApiTerms {
  /** Changes of the policy expire after so long. */
  policyTtlSec?: number | undefined;
  /** Another than the session's. */
  reason?: string | undefined;
  /** The policy is changed only in this version. */
  expectVersion?: number | undefined;
}

/** Enough for one command, including its waits for the rate limit. */
const TOKEN_LIFETIME_MS = 5 * 60_000;

/**
 * Opens the command's tenant.
 *
 * @param note receives what a command waits for
 * @param onReceipt receives each audit entry that the command writes
 * @throws Fault when the tenant, a secret that this door needs, or the door itself is missing
 */
export async function openSession(
  options: SessionOptions,
  note: (message: string) => void,
  onReceipt: (tenant: string, seal: Seal) => void = () => {},
): Promise<TenantSession> {
  const reason = checkReason(options.reason);
  const tenant = readOperatorTenant(options.tenant);
  const door = await openDoor(tenant, options, note);
  const { idempotencyKey, relativeTimes } = options;
  const recording = { reason, idempotencyKey, relativeTimes, onSealed: (seal: Seal) => onReceipt(tenant.id, seal) };
  const session =
    door.kind === "http"
      ? overHttp(tenant, door, recording)
      : await overDatabase(tenant, { ...recording, anyAuditKey: options.anyAuditKey }, localKey(tenant, options), note);
  const seen = new SeenValues(tenant.directory, tenant.id);
  return { ...session, api: (...of) => rememberingValues(session.api(...of), seen) };
}

function overHttp(tenant: OperatorTenant, { access }: ServerDoor, recording: Recording): TenantSession {
  const tokenOf = async (userId: string) => {
    const { mintUserToken } = await import("./user-token.ts");
    return (await mintUserToken(tenant, userId, TOKEN_LIFETIME_MS, wallClockMs())).token;
  };
  return {
    tenant,
    services: undefined,
    api: (userId, { reason = recording.reason, ...terms } = {}) =>
      httpApi({
        ...access,
        ...recording,
        ...terms,
        reason,
        userToken: userId === undefined ? undefined : () => tokenOf(userId),
      }),
    events: (markets, signal) => eventSource({ ...access, markets, signal }),
    logText: (after) => auditLinesOf(access, after),
    close: async () => {},
  };
}

async function overDatabase(
  tenant: OperatorTenant,
  { reason: usual, onSealed, anyAuditKey }: Recording & Pick<SessionOptions, "anyAuditKey">,
  repeatable: LocalKey | undefined,
  note: (message: string) => void,
): Promise<TenantSession> {
  // Before the database is started, so that a missing secret is reported at once.
  const auditSecrets = auditSecretsOf(tenant);
  const databaseUrl = databaseUrlOf(tenant);
  const [
    { openAsServer },
    { commandOptions },
    { ofOurLog, openTenant },
    { localApi },
    { localEvents },
    { onMismatch },
    { openLogLines },
    { requireUserId },
  ] = await Promise.all([
    import("./tenant-database.ts"),
    import("./tenant-services.ts"),
    import("../../services/tenant/tenant.ts"),
    import("../../client/local-api.ts"),
    import("../../client/local-events.ts"),
    import("../../services/answers.ts"),
    import("../../services/audit/audit-lines.ts"),
    import("./user-token.ts"),
  ]);
  const { connection } = await openAsServer(tenant, databaseUrl);
  const opened = await openTenant({ ...commandOptions(tenant, connection, auditSecrets), viewBytes: 0 });
  const services = anyAuditKey ? opened : await ofOurLog(opened);
  const stopNoting = onMismatch(({ operation, problem }) =>
    note(`The answer of ${operation} does not match the contract (${problem}); the output may be incomplete`),
  );
  const actor = operatorActor();
  return {
    tenant,
    services,
    api: (userId, { policyTtlSec, reason = usual, expectVersion } = {}) =>
      localApi(
        services.handlers,
        {
          reason,
          onSealed,
          actor,
          policyTtlMs: policyTtlSec === undefined ? undefined : policyTtlSec * 1000,
          ifMatch: expectVersion === undefined ? undefined : [String(expectVersion)],
          user: userId === undefined ? undefined : { id: requireUserId(userId) },
        },
        repeatable,
      ),
    events: (markets, signal) => localEvents(services, { markets, signal }),
    logText: async (after) => (await openLogLines(services.checks, { after })).pages,
    close: async () => {
      stopNoting();
      await services.close();
    },
  };
}
