import type { OperationScope } from "../domain/access/scopes.ts";
import type { Auth, Operation } from "./operation.ts";
import { type OperationId, operationIds, operations } from "./operations.ts";

/** What a client needs to know of an operation to send a request and to recognise its answer. */
export interface WireFacts {
  method: Operation["method"];
  path: string;
  auth: Auth;
  /** What an admin key needs; null where it needs no scope. */
  scope: OperationScope | null;
  /** The names of the input's fields. */
  takes: readonly string[];
  /** The form of the body: a list, an object with some of these fields, or anything. */
  answers: "list" | "anything" | readonly string[];
  inQuery: boolean;
  optionalUser: boolean;
  paged: boolean;
  temporary: boolean;
  writes: boolean;
  health: boolean;
}

/**
 * The facts of every operation. The build evaluates this module and writes its value in its place, so a command that
 * sends one request does not make the schemas of all operations first.
 */
export const wireFacts = Object.fromEntries(operationIds.map((id) => [id, factsOf(operations[id])])) as Readonly<
  Record<OperationId, WireFacts>
>;

function factsOf(operation: Operation): WireFacts {
  const { method, path, auth, input, scope = null } = operation;
  const { inQuery = false, optionalUser = false, temporary = false, writes = false, health = false } = operation;
  const paged = operation.paged === true;
  const answers = answersOf(operation);
  return {
    ...{ method, path, auth, scope, takes: Object.keys(input.shape), answers },
    ...{ inQuery, optionalUser, paged, temporary, writes, health },
  };
}

function answersOf({ output, paged }: Operation): WireFacts["answers"] {
  if (paged || output.def.type === "array") return "list";
  return "shape" in output ? Object.keys(output.shape as object) : "anything";
}
