import type { Command } from "commander";
import { readPages } from "../../client/pages.ts";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import type { WireOutput, WireResult } from "../../contract/operations.ts";
import { changesByKind, listChanges, type StoredDocument } from "../../domain/audit/document-changes.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { ASKS_TENANT, EXIT, type ExitCode } from "../errors.ts";
import { count } from "../input/parsers.ts";
import { type SelectorOptions, selectorOption } from "../input/selector-option.ts";
import { tenantsMeant } from "../input/tenants.ts";
import { orDash, plain } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";
import { shortCommit } from "./applied.ts";
import { oneByOne } from "./each-tenant.ts";
import { overrideLine, symbolOf } from "./plan-view.ts";

/** One apply, from its audit entry; `rollback --to` takes its `seq`. */
type Applied = WireOutput<"listApplies">[number] & { tenant: string };

interface HistoryOptions extends SelectorOptions {
  limit: number;
}

const view: View<readonly Applied[], Applied> = {
  kind: "list",
  rows: (items) => items,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant, optional: true, identifies: true },
    { title: "SEQ", cell: ({ seq }) => String(seq), align: "right", whole: true },
    instantColumn("WHEN", ({ ts }) => ts, { whole: true }),
    { title: "WHO", cell: ({ actor }) => actor },
    { title: "COMMIT", cell: ({ gitCommit }) => orDash(gitCommit && shortCommit(gitCommit)), whole: true },
    { title: "FILE", cell: ({ fileSha256 }) => orDash(fileSha256?.slice(0, 12)), optional: true, whole: true },
    { title: "CHANGED", cell: ({ changes }) => countsOf(changes), least: 20, wraps: true },
    { title: "ROLLED BACK TO", cell: ({ rollbackTo }) => orDash(rollbackTo?.toString()), optional: true },
    { title: "KEPT LIVE", cell: ({ adopted }) => orDash(adopted.join(", ")), optional: true },
    { title: "REASON", cell: ({ reason }) => orDash(reason), optional: true },
  ],
  empty: "Nothing has been applied yet.",
};

export function register(noun: Command, host: Host): void {
  host.add<HistoryOptions>(
    noun
      .argument("[tenants...]", "tenants to list (default: the only one); * and ? match")
      .addOption(selectorOption())
      .option("--limit <n>", "how many applies of each tenant, newest first", count, 50)
      .description("list the applies of a tenant, from its audit log"),
    {
      names: "tenant seq ts actor hash reason gitCommit sha256 fileSha256 rollbackTo policy adopted changes",
      ends: { ...ASKS_TENANT, 10: "only the applies of some tenants were read" },
    },
    runHistory,
  );
  host.add(
    noun
      .command("show")
      .argument("<seq>", "number of the apply, from pmctl history")
      .description("show one apply: what it changed since the previous one, and the document that it stored"),
    { names: `tenant ${SHOWN} livePolicy document`, ends: ASKS_TENANT },
    runShow,
  );
  host.add(
    noun
      .command("diff")
      .argument("<from>", "number of an apply, from pmctl history")
      .argument("<to>", "number of another apply")
      .description("compare the documents of two applies"),
    { names: "tenant from to changes", ends: ASKS_TENANT },
    runDiff,
  );
}

const SHOWN = "seq ts actor hash reason gitCommit sha256 fileSha256 rollbackTo policy adopted changes";

/** Such as `2 policy, 1 market`; leaves out zeros. */
function countsOf({ policy, markets, keys, settings }: Applied["changes"]): string {
  const told = [
    [policy, `${policy} policy`],
    [markets, counted(markets, "market")],
    [keys, counted(keys, "key")],
    [settings, counted(settings, "setting")],
  ] as const;
  return orDash(told.flatMap(([count, text]) => (count > 0 ? [text] : [])).join(", "));
}

interface Changes {
  tenant: string;
  changes: readonly { field: string; before: unknown; after: unknown }[];
}

const changesView: View<Changes, Changes["changes"][number]> = {
  kind: "list",
  rows: ({ changes }) => changes,
  columns: [
    { title: "", cell: ({ before, after }) => symbolOf(before, after), whole: true },
    { title: "FIELD", cell: ({ field }) => field, whole: true },
    { title: "BEFORE", cell: ({ before }) => orDash(plain(before)) },
    { title: "AFTER", cell: ({ after }) => orDash(plain(after)) },
  ],
  empty: "Nothing differs.",
};

/** Runs on the applies of one tenant. */
async function withHistory<Value>(
  { options, io }: CommandContext<object>,
  work: (tenant: string, applyAt: (seq: string | undefined) => Promise<WireResult<"getApply">>) => Promise<Value>,
): Promise<Value> {
  const workspace = openWorkspace();
  const tenant = pickTenant(workspace, options.tenant);
  return withConfig(workspace.directory, tenant, options, io, async (session) => {
    const live = await session.open();
    if (!live) throw new Fault("NOT_FOUND", `${tenant} was never applied, so it has no history`);
    return work(tenant, async (seq = "") => live.api.getApply({ seq: applyNumber(seq) }));
  });
}

function applyNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new Fault("USAGE", `${text} is not the number of an audit entry; pmctl history lists the applies`);
}

async function runShow(context: CommandContext<object>): Promise<void> {
  const { args, io } = context;
  await withHistory(context, async (tenant, applyAt) => {
    const apply = await applyAt(args[0]);
    const { seq, ts, actor, gitCommit, reason } = apply;
    await io.output.print({ tenant, ...apply }, changesView);
    const commit = gitCommit === null ? "" : `, commit ${gitCommit}`;
    io.output.note(`${tenant}: apply ${seq} by ${actor} at ${ts}${commit}${reason === null ? "" : ` (${reason})`}`);
  });
}

async function runDiff(context: CommandContext<object>): Promise<void> {
  const { args, io } = context;
  await withHistory(context, async (tenant, applyAt) => {
    const [from, to] = [await applyAt(args[0]), await applyAt(args[1])];
    const changes = listChanges(changesByKind(from.document as StoredDocument, to.document as StoredDocument));
    await io.output.print({ tenant, from: from.seq, to: to.seq, changes }, changesView);
  });
}

/** Notes the overrides in force too, because they are live although no apply made them. */
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
