import type { CarriedOut } from "../../app/apply/apply-tenant.ts";
import type { Seal } from "../../domain/audit/audit-link.ts";
import type { Ends } from "../errors.ts";
import { orDash } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { type ShownItem, shownItem } from "./plan-view.ts";

/** The result of an apply or a rollback of one tenant. */
export interface AppliedTenant {
  tenant: string;
  changed: boolean;
  /** Number of the audit entry; null when nothing changed. */
  seq: number | null;
  hash: string | null;
  gitCommit: string | null;
  fileSha256: string;
  /** The changes that were written. */
  changes: ShownItem[];
  /** Fields that changed since the previous apply, as `pmctl history` counts them. */
  recorded: string[];
  /** Migrations that brought the schema forward. */
  migrations: string[];
}

export const APPLIED_FIELDS = "tenant changed seq hash gitCommit fileSha256 changes recorded migrations";

export const APPLY_ENDS = {
  3: "drift, a loosening, a rule or a freeze that was not accepted, or not confirmed: nothing was written",
  7: "a market, a key or the treasury does not allow it",
  8: "the audit log does not hold",
} satisfies Ends;

/** @param seal of the last change that the command made; undefined for a repeat under an idempotency key */
export function appliedTenant(
  { plan, changed, items, gitCommit, entry: kept }: CarriedOut,
  { seal, migrations }: { seal: Seal | undefined; migrations: string[] },
): AppliedTenant {
  const entry = changed ? (kept ?? seal) : undefined;
  return {
    tenant: plan.tenant,
    changed,
    seq: entry ? Number(entry.seq) : null,
    hash: entry?.hash ?? null,
    gitCommit,
    fileSha256: kept?.fileSha256 ?? plan.fileSha256,
    changes: items.map(shownItem),
    recorded: (changed ? (kept?.changes ?? items) : []).map(({ field }) => field),
    migrations,
  };
}

export const appliedView = {
  kind: "list",
  rows: (applied) => applied,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant },
    { title: "RESULT", cell: ({ changed }) => (changed ? "applied" : "nothing to do") },
    // As many as the plan had rows; where it had none, the settings that it named.
    {
      title: "CHANGES",
      cell: ({ changed, changes, recorded }) => (changed ? String(changes.length || recorded.length) : "-"),
      align: "right",
    },
    { title: "ENTRY", cell: ({ seq }) => orDash(seq?.toString()), align: "right" },
    { title: "COMMIT", cell: ({ gitCommit }) => orDash(gitCommit && shortCommit(gitCommit)), whole: true },
    { title: "MIGRATIONS", cell: ({ migrations }) => orDash(String(migrations.length || "")), align: "right" },
  ],
  empty: "There is nothing to apply",
} satisfies View<readonly AppliedTenant[], AppliedTenant>;

/** The commit with as many digits as git shows, and with its `-dirty`. */
export function shortCommit(gitCommit: string): string {
  return gitCommit.replace(/^([0-9a-f]{8})[0-9a-f]*/, "$1");
}
