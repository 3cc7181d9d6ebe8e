import type { Command } from "commander";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import type { WireOutput } from "../../contract/operations.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { readPages } from "../input/paging.ts";
import { count } from "../input/parsers.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { overrideLine } from "./plan-view.ts";

/** One apply, as its audit entry tells; `rollback --to` takes its `seq`. */
type Applied = WireOutput<"listApplies">[number];

const view: View<readonly Applied[], Applied> = {
  kind: "list",
  rows: (items) => items,
  columns: [
    { title: "SEQ", cell: ({ seq }) => String(seq), align: "right", whole: true },
    { title: "WHEN", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "WHO", cell: ({ actor }) => actor },
    { title: "COMMIT", cell: ({ gitCommit }) => orDash(gitCommit?.slice(0, 12)) },
    { title: "ROLLED BACK TO", cell: ({ rollbackTo }) => orDash(rollbackTo?.toString()), optional: true },
    { title: "POLICY", cell: ({ policy }) => orDash(policy.join(", ")), optional: true },
    { title: "KEPT LIVE", cell: ({ adopted }) => orDash(adopted.join(", ")), optional: true },
    { title: "REASON", cell: ({ reason }) => orDash(reason), optional: true },
  ],
  empty: "Nothing has been applied yet.",
};

export function register(noun: Command, host: Host): void {
  host.add<{ limit: number }>(
    noun
      .argument("[tenant]", "the tenant")
      .option("--limit <n>", "how many, the newest first", count, 50)
      .description("the applies of a tenant, from its audit log"),
    { names: "seq ts actor reason gitCommit sha256 fileSha256 rollbackTo policy adopted" },
    runHistory,
  );
}

/** Notes the overrides in force too: they are live, and no apply made them. */
async function runHistory({ options, args, io }: CommandContext<{ limit: number }>): Promise<void> {
  const workspace = openWorkspace();
  const tenant = pickTenant(workspace, args[0] ?? options.tenant);
  return withConfig(workspace.directory, tenant, options, io, async (session) => {
    const live = await session.open();
    await io.output.print(
      live ? (await readPages(options.limit, (page) => live.api.listApplies(page))).items : [],
      view,
    );
    for (const each of live?.config.overrides ?? [])
      io.output.note(overrideLine({ ...each, field: `policy.${each.field}` }));
  });
}
