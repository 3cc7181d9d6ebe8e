import type { Input, Result } from "../../contract/operations.ts";
import { listSecurityRows } from "../../ledger/unchained/security-log.ts";
import { withinDeadline } from "../../postgres/client.ts";
import type { ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";

const FLUSH_TIMEOUT_MS = 1_000;

/** What the edge refused and noticed, for operators. */
export function securityHandlers(context: ServiceContext) {
  return { listSecurityEvents: (input) => listSecurityEvents(context, input) } satisfies Handlers;
}

async function listSecurityEvents(
  { pool, cursors, security }: ServiceContext,
  input: Input<"listSecurityEvents">,
): Promise<Result<"listSecurityEvents">> {
  const { event, since, limit } = input;
  const list = cursors.list("listSecurityEvents", input);
  const [ts, id] = list.reached(["number", "string"]) ?? [];
  // What this process has not written yet belongs on the first page.
  await withinDeadline(security.flush(), FLUSH_TIMEOUT_MS).catch(() => {});
  const before = ts === undefined || id === undefined ? undefined : { ts, id };
  const rows = await pool.read((sql) => listSecurityRows(sql, { event, since, before, limit: limit + 1 }));
  const { page, nextCursor } = list.page(rows, limit, (last) => [last.ts, last.id]);
  return { entries: page.map(({ id: _, ...entry }) => entry), cursor: nextCursor };
}
