import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import type { AuditKey } from "../../../domain/audit/seal.ts";
import { Fault } from "../../../domain/fault.ts";
import type { Head } from "../../../ledger/commit.ts";
import { CalledBack } from "../../../ledger/sequencer/faults.ts";
import { LATEST_DECISION_MS, type Passed } from "../../../ledger/sequencer/passing.ts";
import { frameOf, onFrames } from "./frames.ts";
import {
  isProof,
  machineMs,
  NONCE_HEADER,
  type Passage,
  PROOF_HEADER,
  PROTOCOL,
  proofOf,
  type Return,
  type SentReply,
  sentFault,
  type TradeAnswer,
  type TradeRequest,
} from "./messages.ts";

export interface LeadingOptions {
  key: AuditKey;
  version: string;
  decide(request: TradeRequest, isCalledBack: (head: Head) => boolean): Promise<TradeAnswer>;
}

/** Decides the trades that other servers of the tenant pass to this one. */
export class Leading {
  readonly #options: LeadingOptions;
  readonly #followers = new Set<Follower>();
  #isLeaving = false;

  constructor(options: LeadingOptions) {
    this.#options = options;
  }

  /** The number of passed trades without an answer yet. */
  get deciding(): number {
    return [...this.#followers].reduce((sum, { deciding }) => sum + deciding, 0);
  }

  /** Answers another server's request for the connection. @param socketName the name of the socket it came through */
  accept(socketName: string, headers: IncomingHttpHeaders, socket: Duplex): void {
    const { key, version } = this.#options;
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
    const terms = { socket: socketName, nonce: String(headers[NONCE_HEADER]), version };
    if (this.#isLeaving || !isProof(key, "follower", terms, headers[PROOF_HEADER])) {
      socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n");
      return;
    }
    const answer = ["HTTP/1.1 101 Switching Protocols", "connection: Upgrade", `upgrade: ${PROTOCOL}`];
    socket.write(`${[...answer, `${PROOF_HEADER}: ${proofOf(key, "leader", terms)}`].join("\r\n")}\r\n\r\n`);
    const follower = new Follower(socket, this.#options);
    this.#followers.add(follower);
    socket.on("close", () => this.#followers.delete(follower));
  }

  /** Takes no further trades. The others end their connections after their last answers. */
  leave(): void {
    this.#isLeaving = true;
    for (const follower of this.#followers) follower.leave();
  }

  /** Ends all connections. */
  destroy(): void {
    for (const follower of this.#followers) follower.destroy();
  }
}

class Follower {
  readonly #socket: Duplex;
  readonly #options: LeadingOptions;
  deciding = 0;
  #outbox: SentReply[] = [];
  #isLeaving = false;

  constructor(socket: Duplex, options: LeadingOptions) {
    this.#socket = socket;
    this.#options = options;
    onFrames(socket, (message) => {
      const { sentAt, passed } = message as Passage;
      for (const each of passed) void this.#decide(sentAt, each);
    });
  }

  leave(): void {
    this.#isLeaving = true;
    this.#send([], true);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  async #decide(sentAt: number, { id, epoch, request }: Passed<TradeRequest>): Promise<void> {
    if (this.#isLeaving) return this.#reply({ id, kind: "not decided" });
    this.deciding += 1;
    const isCalledBack = (head: Head) => head.epoch !== epoch || machineMs() > sentAt + LATEST_DECISION_MS;
    const reply = await this.#options.decide(request, isCalledBack).then(
      (answer): SentReply => ({ id, kind: "answer", answer }),
      (error: unknown): SentReply => {
        if (error instanceof CalledBack) return { id, kind: "not decided" };
        const fault = error instanceof Fault ? error : new Fault("INTERNAL", "Unexpected failure");
        return { id, kind: "refused", fault: sentFault(fault) };
      },
    );
    this.deciding -= 1;
    this.#reply(reply);
  }

  #reply(reply: SentReply): void {
    this.#outbox.push(reply);
    // Runs after the other answers of the same commit, which travel together.
    if (this.#outbox.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const replies = this.#outbox;
    this.#outbox = [];
    this.#send(replies, false);
  }

  #send(replies: readonly SentReply[], leaves: boolean): void {
    const message: Return = { replies, leaves };
    if (this.#socket.writable) this.#socket.write(frameOf(message));
  }
}
