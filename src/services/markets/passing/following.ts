import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { basename } from "node:path";
import type { Duplex } from "node:stream";
import type { Seal } from "../../../domain/audit/audit-link.ts";
import type { AuditKey } from "../../../domain/audit/seal.ts";
import type { Leader, Listener } from "../../../ledger/sequencer/passing.ts";
import { serverSockets } from "../../../state/server-sockets.ts";
import { frameOf, onFrames } from "./frames.ts";
import {
  heardReply,
  isProof,
  machineMs,
  NONCE_HEADER,
  type Passage,
  PROOF_HEADER,
  PROTOCOL,
  proofOf,
  type Return,
  type TradeAnswer,
  type TradeRequest,
} from "./messages.ts";

/** The servers of a tenant that run on this machine from one directory. */
export interface Neighbours {
  directory: string;
  /** Of the program: only servers of the same version pass trades to each other. */
  version: string;
}

export interface FollowingOptions extends Neighbours {
  tenant: string;
  key: AuditKey;
  /** Called with the last entry of each message of answers. */
  onSealed: (seal: Seal) => void;
}

/** A server that does not answer in this time is passed over. */
const ANSWER_WITHIN_MS = 1000;

/**
 * Connects to the server that leads: the one that has listened for the longest time. All servers find the same one,
 * without a vote, and need not: two leaders are only slower than one. Undefined if this process is the oldest.
 */
export async function findLeader(
  options: FollowingOptions,
  listener: Listener<TradeAnswer>,
): Promise<Leader<TradeRequest> | undefined> {
  const oldestFirst = (await serverSockets(options.directory, options.tenant)).toReversed();
  for (const { path, pid } of oldestFirst) {
    if (pid === process.pid) return undefined;
    const socket = await connectTo(path, options).catch(() => undefined);
    if (socket) return leaderOn(socket, options, listener);
  }
  return undefined;
}

/** @throws the system's error, or one that says that the other end is no server of this tenant and version */
function connectTo(path: string, { key, version }: FollowingOptions): Promise<Duplex> {
  const terms = { socket: basename(path), nonce: randomBytes(16).toString("hex"), version };
  return new Promise((resolve, reject) => {
    const asked = request({
      socketPath: path,
      path: "/",
      timeout: ANSWER_WITHIN_MS,
      headers: {
        connection: "Upgrade",
        upgrade: PROTOCOL,
        [NONCE_HEADER]: terms.nonce,
        [PROOF_HEADER]: proofOf(key, "follower", terms),
      },
    });
    asked.on("timeout", () => asked.destroy(new Error("The server is silent")));
    asked.on("error", reject);
    asked.on("response", ({ statusCode }) => {
      asked.destroy();
      reject(new Error(`The server answers ${statusCode}`));
    });
    asked.on("upgrade", ({ headers }, socket, first) => {
      socket.setTimeout(0);
      // A message may have arrived together with the answer.
      socket.unshift(first);
      if (isProof(key, "leader", terms, headers[PROOF_HEADER])) return resolve(socket);
      socket.destroy();
      reject(new Error("The process does not have the audit key"));
    });
    asked.end();
  });
}

function leaderOn(
  socket: Duplex,
  { onSealed }: FollowingOptions,
  listener: Listener<TradeAnswer>,
): Leader<TradeRequest> {
  onFrames(socket, (message) => {
    const { replies, leaves } = message as Return;
    const last = replies.findLast((reply) => reply.kind === "answer" && reply.answer.seal);
    if (last?.kind === "answer" && last.answer.seal) onSealed(last.answer.seal);
    listener.replied(replies.map(heardReply));
    if (leaves) listener.leaves();
  });
  socket.on("error", () => socket.destroy());
  socket.on("close", () => listener.lost());
  return {
    send: (passed) => {
      const message: Passage = { sentAt: machineMs(), passed };
      socket.write(frameOf(message));
    },
    close: () => socket.destroy(),
  };
}
