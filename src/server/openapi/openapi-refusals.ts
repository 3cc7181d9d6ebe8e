import type { Operation } from "../../contract/operation.ts";
import { type FaultCode, faultFacts } from "../../domain/fault.ts";
import type { JsonObject } from "./openapi-parts.ts";

/** The error codes of an operation in order of precedence: if several apply, the first is returned. */
export function refusalsOf(operation: Operation): FaultCode[] {
  const { auth, writes, optionalUser, refusals, health } = operation;
  const onBehalf = "onBehalf" in operation ? operation.onBehalf : undefined;
  const isChange = mayChange(operation);
  const codes: (FaultCode | false)[] = [
    "UNKNOWN_HOST",
    "RATE_LIMITED",
    auth === "signature" && "SIGNATURE_INVALID",
    auth !== "none" && auth !== "signature" && "KEY_INVALID",
    auth === "admin" && "FORBIDDEN",
    (auth === "admin" || onBehalf !== undefined) && "SCOPE_REQUIRED",
    (auth === "user" || optionalUser === true) && "USER_REQUIRED",
    (auth === "user" || optionalUser === true) && "TOKEN_KEYS_UNAVAILABLE",
    (auth === "user" || optionalUser === true) && isChange && "ORIGIN_FORBIDDEN",
    "BAD_REQUEST",
    auth !== "none" && "NOT_FOUND",
    writes === true && "IDEMPOTENCY_MISMATCH",
    ...refusals,
    isChange && "STANDBY_REQUIRED",
    !health && !refusals.includes("OVERLOADED") && "OVERLOADED",
    "DATABASE_UNAVAILABLE",
    isChange && "OUTCOME_UNKNOWN",
    "INTERNAL",
  ];
  return codes.filter((code) => code !== false);
}

function mayChange({ method, auth }: Operation): boolean {
  return method !== "GET" || auth === "signature";
}

/** `OVERLOADED` is 503 if no database connection was free in time, which can happen to any read. */
function statusesOf(operation: Operation, code: FaultCode): number[] {
  const { status } = faultFacts(code);
  if (code !== "OVERLOADED") return [status];
  return mayChange(operation) || operation.refusals.includes(code) ? [status, 503] : [503];
}

const ORDER = "If several errors apply, the first of these is returned: ";

/** A description without its sentence about the order of errors; empty for most operations. */
export function withoutOrder(description: string): string {
  return description
    .split("\n\n")
    .filter((paragraph) => !paragraph.startsWith(ORDER))
    .join("\n\n");
}

/** The sentence about the order of errors, for the description of an operation. */
export function orderOfRefusals(operation: Operation): string {
  const codes = refusalsOf(operation).map((code) => `\`${code}\` ${statusesOf(operation, code).join(" or ")}`);
  return `${ORDER}${codes.join(", ")}.`;
}

/** Codes whose answer says in `Retry-After` when to try again. */
const TIMED: readonly FaultCode[] = ["RATE_LIMITED", "OVERLOADED", "TOKEN_KEYS_UNAVAILABLE"];

/** The errors of one operation by status, each with its possible codes. */
export function refusalResponses(operation: Operation, headers: (isTimed: boolean) => JsonObject): JsonObject {
  const each = refusalsOf(operation).flatMap((code) => statusesOf(operation, code).map((status) => ({ code, status })));
  const entries = [...Map.groupBy(each, ({ status }) => status)].map(([status, refused]): [number, JsonObject] => {
    const codes = refused.map(({ code }) => code);
    const meanings = codes.map((code) => ({ code, meaning: faultFacts(code).meaning }));
    return [
      status,
      {
        description: `${meanings.map(({ code, meaning }) => `\`${code}\` (${meaning})`).join("; ")}.`,
        headers: {
          "Error-Code": { schema: { type: "string", enum: codes } },
          ...headers(codes.some((code) => TIMED.includes(code))),
        },
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    ];
  });
  return Object.fromEntries(entries.sort(([a], [b]) => a - b));
}
