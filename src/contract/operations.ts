import type { z } from "zod";
import type { Operation } from "./operation.ts";
import { auditOperations } from "./resources/audit.ts";
import { configOperations } from "./resources/config.ts";
import { deliveryOperations } from "./resources/deliveries.ts";
import { proposalOperations } from "./resources/ends/proposals.ts";
import { settlementOperations } from "./resources/ends/settlement.ts";
import { explainOperations } from "./resources/explain.ts";
import { healthOperations } from "./resources/health.ts";
import { idOperations } from "./resources/ids.ts";
import { inboundOperations } from "./resources/inbound.ts";
import { keyOperations } from "./resources/keys.ts";
import { marketOperations } from "./resources/markets.ts";
import { oracleOperations } from "./resources/oracle.ts";
import { policyOperations } from "./resources/policy.ts";
import { positionOperations } from "./resources/positions.ts";
import { reportOperations } from "./resources/reports.ts";
import { sessionOperations } from "./resources/session.ts";
import { tradingOperations } from "./resources/trading.ts";
import { userOperations } from "./resources/users.ts";
import { walletOperations } from "./resources/wallets.ts";

/**
 * The table of all operations, by id. Within a resource, a fixed path precedes the `:id` path that would match it too.
 */
export const operations = {
  ...healthOperations,
  ...auditOperations,
  ...inboundOperations,
  ...marketOperations,
  ...settlementOperations,
  ...proposalOperations,
  ...tradingOperations,
  ...positionOperations,
  ...walletOperations,
  ...userOperations,
  ...policyOperations,
  ...reportOperations,
  ...oracleOperations,
  ...sessionOperations,
  ...explainOperations,
  ...keyOperations,
  ...deliveryOperations,
  ...idOperations,
  ...configOperations,
} satisfies Record<string, Operation>;

export type Operations = typeof operations;
export type OperationId = keyof Operations;
export const operationIds = Object.keys(operations) as OperationId[];

/** The JSON that a caller sends and receives. */
export type WireInput<Id extends OperationId> = z.input<Operations[Id]["input"]>;
export type WireOutput<Id extends OperationId> = z.input<Operations[Id]["output"]>;

/** What handlers see: bigint micro-units and instants in milliseconds. */
export type Input<Id extends OperationId> = z.output<Operations[Id]["input"]>;
export type Output<Id extends OperationId> = z.output<Operations[Id]["output"]>;

/** A page of a list whose body is a bare array. */
export interface Page<Items> {
  items: Items;
  nextCursor: string | null;
}

type MaybePaged<Id extends OperationId, Value> = Operations[Id] extends { paged: true } ? Page<Value> : Value;

/** What a handler returns and what an `Api` method resolves to. */
export type Result<Id extends OperationId> = MaybePaged<Id, Output<Id>>;
export type WireResult<Id extends OperationId> = MaybePaged<Id, WireOutput<Id>>;

/**
 * One method per operation. Two implementations exist: within this process, and over HTTP to a running server. Under an
 * idempotency key, `fingerprint` identifies the request instead of its input.
 */
export type Api = { [Id in OperationId]: (input: WireInput<Id>, fingerprint?: string) => Promise<WireResult<Id>> };
