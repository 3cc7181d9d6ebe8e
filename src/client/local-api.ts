import { type Api, type OperationId, operationIds } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";
import { type Caller, type Handlers, invoke } from "../services/invoke.ts";

/**
 * The operations of a tenant in this process, on behalf of one caller. Inputs and results are the wire's, validated and
 * encoded by the same `invoke` that the server uses, so both doors answer alike.
 *
 * Every method rejects with the Fault that the server would answer with.
 */
export function localApi(handlers: Handlers, caller: Caller): Api {
  const methods = operationIds.map((id) => [id, (input: unknown) => call(handlers, id, input, caller)]);
  return Object.fromEntries(methods) as Api;
}

async function call(handlers: Handlers, id: OperationId, input: unknown, caller: Caller): Promise<unknown> {
  try {
    return (await invoke(handlers, id, input, caller)).value;
  } catch (error) {
    throw refusalOf(error);
  }
}

/** A query that met a database that is away is a refusal, as it is over HTTP; everything else is as it was thrown. */
function refusalOf(error: unknown): unknown {
  if (error instanceof Fault || !isConnectionFailure(error)) return error;
  return new Fault("DATABASE_UNAVAILABLE", "The database is not available", { cause: error });
}

/** The driver's own codes, PostgreSQL's for an ending connection, and the system's for one that was never made. */
function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
  return /^(CONNECT_|CONNECTION_|08|57P)/.test(error.code) || ("syscall" in error && error.syscall === "connect");
}
