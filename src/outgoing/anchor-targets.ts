import type { AnchorLine } from "../domain/audit/anchor.ts";
import type { AuditKey } from "../domain/audit/seal.ts";
import { announce } from "../ledger/unchained/webhook-queue.ts";
import type { Pool } from "../postgres/pool.ts";
import { appendAnchor, appendToDirectory, directoryAnchors } from "../services/anchors/anchor-file.ts";
import type { AnchorTarget } from "../services/anchors/anchor-writer.ts";
import { anchorEventId } from "../services/webhooks/outgoing-events.ts";
import type { OutgoingHttp } from "./guarded-fetch.ts";
import { signMessage } from "./sign.ts";

const TIMEOUT_MS = 10_000;
/** The answer's body is not read. */
const LIMIT_BYTES = 1024;

/** The operator's own directory, which always gets anchors. */
export function directoryTarget(directory: string, tenant: string, keys: readonly AuditKey[]): AnchorTarget {
  return {
    kind: "directory",
    place: directoryAnchors(directory, tenant),
    write: (anchor) => appendToDirectory(directory, anchor, keys),
  };
}

/** An append-only file, such as one on another machine's disk. */
export function fileTarget(file: string): AnchorTarget {
  return { kind: "file", place: file, write: (anchor) => appendAnchor(file, anchor, false) };
}

/**
 * A program that receives each anchor as a line on stdin.
 * @param environment the program's whole environment; it inherits nothing
 */
export function programTarget(
  [program = "", ...args]: readonly string[],
  { directory, environment }: { directory: string; environment: Readonly<Record<string, string | undefined>> },
): AnchorTarget {
  return {
    kind: "exec",
    place: program,
    write: async (anchor) => {
      const { execa } = await import("execa");
      await execa(program, args, {
        cwd: directory,
        env: environment,
        extendEnv: false,
        input: `${JSON.stringify(anchor)}\n`,
        stdout: "ignore",
        stderr: "ignore",
        timeout: TIMEOUT_MS,
        killSignal: "SIGKILL",
      });
    },
  };
}

/** An address to which each anchor is posted, signed like an outgoing webhook. */
export function urlTarget(
  { url, secrets }: { url: string; secrets: readonly string[] },
  { outgoing, clock }: { outgoing: OutgoingHttp; clock: () => Promise<number> },
): AnchorTarget {
  return {
    kind: "url",
    place: new URL(url).origin,
    write: async (anchor) => {
      const body = JSON.stringify(anchor);
      const { status } = await outgoing.request(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": "pmctl",
          ...signMessage(eventIdOf(anchor), body, await clock(), secrets),
        },
        body,
        timeoutMs: TIMEOUT_MS,
        limitBytes: LIMIT_BYTES,
        cut: true,
      });
      if (status < 200 || status > 299) throw new Error(`the target returned HTTP status ${status}`);
    },
  };
}

/** The receivers of outgoing webhooks that subscribe to `audit.anchored`: their queues deliver it, with retries. */
export function receiversTarget(pool: Pool, receivers: readonly string[]): AnchorTarget {
  return {
    kind: "receivers",
    place: receivers.join(", "),
    write: (anchor) =>
      pool.write((sql) =>
        announce(sql, receivers, {
          eventId: eventIdOf(anchor),
          seq: BigInt(anchor.seq),
          type: "audit.anchored",
          createdAt: Date.parse(anchor.ts),
        }),
      ),
  };
}

function eventIdOf({ seq, hash }: AnchorLine): string {
  return anchorEventId({ seq: BigInt(seq), hash });
}
