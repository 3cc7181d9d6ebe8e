import { z } from "zod";
import { type OperationId, operations } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";

/** What each command prints: an operation's answer, the rows inside it, or names of its own. */
const PRINTED: Record<string, OperationId | { of: OperationId; rows: string } | { names: string[] }> = {
  "market list": "listMarkets",
  "market show": "getMarket",
  "market create": "createMarket",
  "market suspend": "suspendMarket",
  "market resume": "resumeMarket",
  "market settle": "settleMarket",
  "market history": "getMarketHistory",
  "market trending": "listTrendingMarkets",
  "report overview": "getOverviewReport",
  "report house": { of: "getHouseReport", rows: "byCategory" },
  "report traders": { of: "getTradersReport", rows: "traders" },
  "report funding": "getFundingReport",
  risk: "listRisk",
  hedge: { of: "getHedgeExposure", rows: "hedgeBook" },
  "trade quote": "quoteTrade",
  "trade place": "placeTrade",
  "position list": "listPositions",
  "user show": "getUser",
  "user restrict": "restrictUser",
  "user release": "releaseUser",
  "suitability show": "getSuitability",
  "suitability submit": "submitSuitability",
  "funding list": "listWithdrawals",
  "funding approve": "approveWithdrawal",
  "funding reject": "rejectWithdrawal",
  "funding credit": "creditWallet",
  "policy show": "getPolicy",
  "policy set": "updatePolicy",
  "audit list": { of: "listAudit", rows: "entries" },
  "audit status": "getAuditStatus",
  reconcile: "reconcile",
  "market depth": { names: ["side", "price", "size"] },
  "user token": { names: ["token", "userId", "expiresAt"] },
  "audit verify": { names: ["verified", "head", "count", "broken"] },
};

/**
 * The names that `--fields` takes for a command, without running it: one that changes something must not do so because
 * somebody asked what it prints.
 *
 * @param path the command's words, such as `market list`
 * @throws Fault USAGE for a command whose fields are not told by the contract
 */
export function fieldsOfCommand(path: string): string[] {
  const printed = PRINTED[path];
  if (printed === undefined)
    throw new Fault("USAGE", `The fields of pmctl ${path} are the names that it prints with -o json`);
  if (typeof printed === "string") return namesIn(operations[printed].output);
  if ("names" in printed) return printed.names;
  const { output } = operations[printed.of];
  return namesIn((output as z.ZodObject).shape[printed.rows]);
}

function namesIn(schema: unknown, prefix = ""): string[] {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray) return prefix === "" ? namesIn(inner.element) : [];
  if (inner instanceof z.ZodUnion) return [...new Set(inner.options.flatMap((option) => namesIn(option, prefix)))];
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape).flatMap(([name, part]) => [
    `${prefix}${name}`,
    ...namesIn(part, `${prefix}${name}.`),
  ]);
}

function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap());
  return schema;
}
