import type { Command } from "commander";
import type { ConfigurationEntry } from "../../store/queries/configuration.ts";
import { orDash, time } from "../cells.ts";
import type { CommandContext, ExitCode, Host } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";
import { count } from "../parsers.ts";

/** One apply, as its audit entry tells. */
interface HistoryItem {
  /** What `rollback --to` takes. */
  seq: number;
  ts: string;
  actor: string;
  reason: string | null;
  gitCommit: string | null;
  sha256: string | null;
  rollbackTo: number | null;
  /** The policy fields that it changed. */
  policy: string[];
}

const view: View<readonly HistoryItem[], HistoryItem> = {
  kind: "list",
  rows: (items) => items,
  columns: [
    { title: "SEQ", cell: ({ seq }) => String(seq), align: "right", whole: true },
    { title: "WHEN", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "WHO", cell: ({ actor }) => actor },
    { title: "COMMIT", cell: ({ gitCommit }) => orDash(gitCommit?.slice(0, 12)) },
    { title: "ROLLED BACK TO", cell: ({ rollbackTo }) => orDash(rollbackTo?.toString()), optional: true },
    { title: "POLICY", cell: ({ policy }) => orDash(policy.join(", ")), optional: true },
    { title: "REASON", cell: ({ reason }) => orDash(reason), optional: true },
  ],
  empty: "Nothing has been applied yet.",
};

export function register(noun: Command, host: Host): void {
  noun
    .argument("[tenant]", "the tenant")
    .option("--limit <n>", "how many, the newest first", count, 50)
    .description("the applies of a tenant, from its audit log")
    .action(host.action<{ limit: number }>(runHistory));
}

export async function runHistory({ options, args, io }: CommandContext<{ limit: number }>): Promise<ExitCode> {
  const [{ withSession }, { listApplies }] = await Promise.all([
    import("../command.ts"),
    import("../../store/queries/configuration.ts"),
  ]);
  return withSession({ ...options, tenant: args[0] ?? options.tenant, via: "db" }, io, async ({ services }) => {
    const entries = services ? await listApplies(services.read, { limit: options.limit }) : [];
    await io.output.print(entries.map(itemOf), view);
    return EXIT.ok;
  });
}

function itemOf({ seq, ts, actor, payload }: ConfigurationEntry): HistoryItem {
  const textOf = (name: string) => (typeof payload[name] === "string" ? payload[name] : null);
  return {
    seq,
    ts,
    actor,
    reason: textOf("reason"),
    gitCommit: textOf("gitCommit"),
    sha256: textOf("sha256"),
    rollbackTo: typeof payload.rollbackTo === "number" ? payload.rollbackTo : null,
    policy: Object.keys(payload.policy ?? {}),
  };
}
