import type { Idempotency } from "../../../domain/access/idempotency.ts";
import type { Seal } from "../../../domain/audit/audit-link.ts";
import { isSameMac } from "../../../domain/audit/hmac.ts";
import type { AuditKey } from "../../../domain/audit/seal.ts";
import { Fault, type FaultCode } from "../../../domain/fault.ts";
import type { Command } from "../../../engine/commands.ts";
import type { Passed, Reply } from "../../../ledger/sequencer/passing.ts";

/** A trade that any server of the tenant can decide. Its caller has been checked. */
export interface TradeRequest {
  operation: "placeTrade" | "placeOrder";
  command: Command<"placeTrade"> | Command<"sellShares">;
  actor: string;
  reason: string | undefined;
  idempotency: Idempotency | undefined;
}

export interface TradeAnswer {
  /** JSON. */
  text: string;
  replayed: boolean;
  /** The trade's entry; undefined for a repeated answer. */
  seal: Seal | undefined;
}

/** Milliseconds that never move back, by the one clock that all processes of this machine read. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** From a follower to its leader. */
export interface Passage {
  /** See `machineMs`. */
  sentAt: number;
  passed: readonly Passed<TradeRequest>[];
}

/** A Fault without its stack. */
interface SentFault {
  code: FaultCode;
  message: string;
  detail: Record<string, unknown>;
  retryAfterSec: number | undefined;
}
export type SentReply = { id: number } & (
  | Exclude<Reply<TradeAnswer>, { kind: "refused" }>
  | { kind: "refused"; fault: SentFault }
);

/** From a leader to a follower. */
export interface Return {
  replies: readonly SentReply[];
  /** It takes no further commands. */
  leaves: boolean;
}

export function sentFault({ code, message, detail, retryAfterSec }: Fault): SentFault {
  return { code, message, detail, retryAfterSec };
}

export function heardReply(reply: SentReply): Reply<TradeAnswer> & { id: number } {
  if (reply.kind !== "refused") return reply;
  const { code, message, detail, retryAfterSec } = reply.fault;
  return {
    ...reply,
    fault: new Fault(code, message, { detail, ...(retryAfterSec === undefined ? {} : { retryAfterSec }) }),
  };
}

/** The protocol of the upgrade, and the headers of its proof. */
export const PROTOCOL = "pmctl-passing";
export const NONCE_HEADER = "pmctl-nonce";
export const PROOF_HEADER = "pmctl-proof";

/** What a server states about the connection to another. */
export interface ProofTerms {
  /** The name of the leader's socket, so that a proof is of no use at another. */
  socket: string;
  nonce: string;
  /** Of the program: both ends speak the same. */
  version: string;
}

/**
 * Proves that a process has the tenant's audit key, which no caller has. A program of the same user can connect to the
 * socket, but only a server may decide for users without their tokens.
 */
export function proofOf({ hmac }: AuditKey, by: "leader" | "follower", { socket, nonce, version }: ProofTerms): string {
  return hmac(["pmctl-passing-v1", by, version, socket, nonce].join("\n"));
}

export function isProof(
  key: AuditKey,
  by: "leader" | "follower",
  terms: ProofTerms,
  given: string | readonly string[] | undefined,
): boolean {
  return typeof given === "string" && isSameMac(given, proofOf(key, by, terms));
}
