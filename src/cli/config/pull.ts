import type { Command } from "commander";
import type { Tenant } from "../../config/tenant-file.ts";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import type { Json } from "../../domain/audit/audit-link.ts";
import { POLICY_FIELDS } from "../../domain/policy/fields.ts";
import { DEFAULT_POLICY } from "../../domain/policy/policy.ts";
import { policyValue } from "../../domain/policy/values.ts";
import type { LiveConfig, PlanItem } from "../../plan/plan-types.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { ASKS_TENANT } from "../errors.ts";
import type { View } from "../output/output.ts";
import type { FileEdit } from "./write-back.ts";

/** The fields that `--markets` prints of each market. */
const PULLED_FIELDS = "file key import question category kind p0 closeAt resolutionRef meta liquidityUsd state";

interface PullOptions {
  write?: boolean;
  markets?: boolean;
}

export function register(noun: Command, host: Host): void {
  host.add<PullOptions>(
    noun
      .argument("[tenant]", "the tenant")
      .option(
        "--write",
        "write every live value that differs into the files, also over edits that no apply made yet, which `drift --write` leaves; comments stay",
      )
      .option("--markets", "write a file for each unsettled market that has none, instead")
      .description("print the tenant file with the live values in it, as YAML"),
    {
      tenantFile: true,
      and: PULLED_FIELDS,
      each: (options: PullOptions) => !options.write,
      ends: { ...ASKS_TENANT, 3: "`--markets`: a file exists already, so nothing was written" },
    },
    runPull,
  );
}

/** Puts in the live values that differ, and those of policy fields that no file states unless they are the defaults. */
async function runPull({ options, args, io }: CommandContext<PullOptions>): Promise<void> {
  const workspace = openWorkspace();
  const tenant = pickTenant(workspace, args[0] ?? options.tenant);
  if (options.markets) {
    const { pullMarkets } = await import("../market/pulled-markets.ts");
    return withConfig(workspace.directory, tenant, options, io, (session) => pullMarkets(session, options, io));
  }
  const [{ planTenant }, { editedText, editFor, writeEdits }, { parse }] = await Promise.all([
    import("../../app/apply/plan-tenant.ts"),
    import("./write-back.ts"),
    import("yaml"),
  ]);
  const { plan, live, files } = await withConfig(workspace.directory, tenant, options, io, async (session) => ({
    ...(await planTenant(session)),
    files: session,
  }));
  // What was never applied has no live values yet.
  const items: PlanItem[] = live.version === 0 ? [] : plan.items;
  const edits = items.flatMap((item) => editFor(item, files) ?? []).concat(unstated(live, files));
  const { file } = files.config.source;
  const text = editedText(file, edits);
  // Another format is asked for by name: the same content then.
  const view: View<object, object> = { kind: "text", text: () => text };
  await io.output.print(parse(text) as object, view);
  if (options.write) writeEdits(edits, io);
}

function unstated(live: LiveConfig, { config }: Pick<Tenant, "config">): FileEdit[] {
  if (live.version === 0) return [];
  return POLICY_FIELDS.flatMap((field) => {
    const value = policyValue(live.policy, field) as Json;
    if (policyValue(config.policy, field) !== undefined) return [];
    if (JSON.stringify(value) === JSON.stringify(policyValue(DEFAULT_POLICY, field))) return [];
    return [{ file: config.source.file, path: ["policy", ...field.split(".")], value }];
  });
}
