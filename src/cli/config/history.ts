import type { Command } from "commander";
import { openWorkspace } from "../../config/workspace.ts";
import type { WireOutput } from "../../contract/operations.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { readPages } from "../input/paging.ts";
import { count } from "../input/parsers.ts";
import { type SelectorOptions, selectorOption, tenantsMeant } from "../input/tenants.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { oneByOne } from "./each-tenant.ts";
import { overrideLine } from "./plan-view.ts";

/** One apply, as its audit entry tells; `rollback --to` takes its `seq`. */
type Applied = WireOutput<"listApplies">[number] & { tenant: string };

interface HistoryOptions extends SelectorOptions {
  limit: number;
}

const view: View<readonly Applied[], Applied> = {
  kind: "list",
  rows: (items) => items,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant, optional: true },
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
  host.add<HistoryOptions>(
    noun
      .argument("[tenants...]", "the tenants; the only one unless given; * and ? match")
      .addOption(selectorOption())
      .option("--limit <n>", "how many of each tenant, the newest first", count, 50)
      .description("the applies of a tenant, from its audit log"),
    { names: "tenant seq ts actor reason gitCommit sha256 fileSha256 rollbackTo policy adopted" },
    runHistory,
  );
}

/** Notes the overrides in force too: they are live, and no apply made them. */
async function runHistory(context: CommandContext<HistoryOptions>): Promise<ExitCode> {
  const { options, io } = context;
  const workspace = openWorkspace();
  const targets = tenantsMeant(workspace, context, "only").map((tenant) => ({ tenant }));
  const { values, failure } = await oneByOne(targets, { ...io, not: "read" }, ({ tenant }) =>
    withConfig(workspace.directory, tenant, options, io, async (session) => {
      const live = await session.open();
      const applies = live ? (await readPages(options.limit, (page) => live.api.listApplies(page))).items : [];
      const overrides = live?.config.overrides ?? [];
      return { applies: applies.map((apply) => ({ tenant, ...apply })), overrides };
    }),
  );
  await io.output.print(
    values.flatMap(({ applies }) => applies),
    view,
  );
  for (const { overrides } of values)
    for (const each of overrides) io.output.note(overrideLine({ ...each, field: `policy.${each.field}` }));
  return failure ?? EXIT.ok;
}
