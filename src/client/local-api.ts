import { type Api, type OperationId, operationIds } from "../contract/operations.ts";
import { wireFacts } from "../contract/wire-facts.ts";
import {
  fingerprintOf,
  type Idempotency,
  inputText,
  keyHolder,
  type RelativeTimes,
  requestHash,
} from "../domain/access/idempotency.ts";
import { type Caller, decodeInput, type Handlers, invoke } from "../services/invoke.ts";
import { wireRequest } from "./http-request.ts";

export interface LocalKey {
  key: string;
  /** The admin key that the command would send to a server; undefined where the tenant file names no valid one. */
  adminKey: string | undefined;
  relativeTimes?: RelativeTimes | undefined;
}

/**
 * The operations of a tenant in this process, on behalf of one caller. Inputs and results have the API's form. The same
 * `invoke` as in the server validates and encodes them, so both doors answer alike.
 *
 * Every method rejects with the Fault that the server would answer with.
 *
 * @param repeatable the key under which changes are made once, through whichever door they are repeated
 */
export function localApi(handlers: Handlers, caller: Caller, repeatable?: LocalKey): Api {
  const methods = operationIds.map((id) => [
    id,
    async (input: Record<string, unknown>, named?: string) => {
      const idempotency = repeatable && idempotencyOf(id, { input, named }, caller, repeatable);
      const { wire, seal } = await invoke(handlers, id, input, idempotency ? { ...caller, idempotency } : caller);
      if (seal) caller.onSealed?.(seal);
      return wire.value;
    },
  ]);
  return Object.fromEntries(methods) as Api;
}

/** The same fingerprint as a server computes for `httpApi`'s request, so that each door knows the other's changes. */
function idempotencyOf(
  id: OperationId,
  { input, named }: { input: Record<string, unknown>; named: string | undefined },
  { user, policyTtlMs }: Caller,
  { key, adminKey, relativeTimes }: LocalKey,
): Idempotency | undefined {
  const { writes, auth, optionalUser, temporary } = wireFacts[id];
  if (!writes) return undefined;
  const { method, target, body = "" } = wireRequest(id, input);
  const actsForUser = auth === "user" || optionalUser;
  const { caller, onBehalfOf } = keyHolder(
    adminKey === undefined ? undefined : { type: "admin", name: adminKey },
    actsForUser ? user?.id : undefined,
  );
  return {
    caller,
    key,
    requestHash: requestHash(
      { method, target, onBehalfOf },
      named ?? fingerprintOf(body, relativeTimes) ?? inputText(decodeInput(id, input)),
      temporary ? policyTtlMs : undefined,
    ),
  };
}
