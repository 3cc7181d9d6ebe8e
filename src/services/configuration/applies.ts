import { createHash } from "node:crypto";
import type { Input, Result } from "../../contract/operations.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import {
  type ChangesByKind,
  changesByKind,
  countChanges,
  listChanges,
  type StoredDocument,
  type WrittenPolicy,
  withWritten,
} from "../../domain/audit/document-changes.ts";
import { Fault } from "../../domain/fault.ts";
import type { Policy } from "../../domain/policy/policy.ts";
import { type ConfigurationEntry, listPolicyChangedSince, readApplies } from "../../queries/configuration.ts";
import type { ServiceContext } from "../context.ts";

/** A value of a JSON column is plain JSON, although the types of rows do not say so. */
export function plainJson<Shape>(value: unknown): Shape {
  return value as Shape;
}

export async function listApplies(
  { pool, cursors }: ServiceContext,
  input: Input<"listApplies">,
): Promise<Result<"listApplies">> {
  const { limit } = input;
  const list = cursors.list("listApplies", input);
  const [before] = list.reached(["number"]) ?? [];
  const entries = await pool.read((sql) => readApplies(sql, { limit: limit + 1, before }));
  const { page, nextCursor } = list.page(entries, limit, ({ seq }) => [seq]);
  // The page includes one entry more, with which its last entry is compared.
  const items = page.map((entry, index) => ({
    ...appliedFacts(entry),
    changes: countChanges(changesSince(entries[index + 1], entry)),
  }));
  return { items, nextCursor };
}

export async function getApply({ pool }: Pick<ServiceContext, "pool">, seq: number): Promise<Result<"getApply">> {
  const [[entry], [previous], changedSince] = await pool.snapshot((sql) =>
    Promise.all([
      readApplies(sql, { limit: 1, seq }),
      readApplies(sql, { limit: 1, before: seq }),
      listPolicyChangedSince(sql, seq),
    ]),
  );
  const document = entry?.payload.document;
  if (!entry || typeof document !== "object" || document === null)
    throw new Fault("NOT_FOUND", `Audit entry ${seq} is not an apply; pmctl history lists the applies`);
  const { policy } = plainJson<{ policy: Policy }>(entry.payload.state);
  return {
    ...appliedFacts(entry),
    changes: listChanges(changesSince(previous, entry)).map((change) => plainJson(change)),
    livePolicy: policy,
    changedSince,
    document: plainJson(document),
  };
}

function changesSince(previous: ConfigurationEntry | undefined, entry: ConfigurationEntry): ChangesByKind {
  const documentOf = ({ payload }: ConfigurationEntry) => plainJson<StoredDocument>(payload.document ?? {});
  const changes = changesByKind(previous && documentOf(previous), documentOf(entry));
  // The first apply states its whole policy.
  return previous ? withWritten(changes, plainJson<WrittenPolicy>(entry.payload.policy ?? {})) : changes;
}

/** The facts that an apply's entry states. */
function appliedFacts(entry: ConfigurationEntry): Omit<Result<"listApplies">["items"][number], "changes"> {
  const { seq, ts, actor, hash, payload } = entry;
  const textOf = (name: string) => (typeof payload[name] === "string" ? payload[name] : null);
  return {
    seq,
    ts,
    actor,
    hash,
    reason: textOf("reason"),
    gitCommit: textOf("gitCommit"),
    sha256: createHash("sha256")
      .update(canonicalJson(payload.document as Json))
      .digest("hex"),
    fileSha256: textOf("sha256"),
    rollbackTo: typeof payload.rollbackTo === "number" ? payload.rollbackTo : null,
    policy: Object.keys(payload.policy ?? {}),
    adopted: Array.isArray(payload.adopted) ? payload.adopted.map(String) : [],
  };
}
