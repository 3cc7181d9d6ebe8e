import type { Command } from "commander";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { MAX_FREEZE_DAYS, MAX_FREEZE_MS } from "../../domain/policy/freeze.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { type CommandContext, type Host, withSession } from "../command.ts";
import { timeAhead } from "../input/parsers.ts";
import { askReason } from "../input/prompts.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Freeze = WireResult<"getFreeze">;

interface FreezeOptions {
  /** ISO 8601. */
  until?: string;
  off?: boolean;
}

const view: View<Freeze, Freeze> = {
  kind: "record",
  fields: ({ tenant, frozenUntil, reason, by }) => [
    ["tenant", tenant],
    ["frozen until", orDash(frozenUntil && time(frozenUntil))],
    ["reason", orDash(reason)],
    ["by", orDash(by)],
  ],
};

export function register(noun: Command, host: Host): void {
  host.add<FreezeOptions>(
    noun
      .argument("[tenant]", "the tenant")
      .option(
        "--until <time>",
        `2d, 2030-01-31T18:00:00Z or friday 18:00 Europe/Berlin; at most ${MAX_FREEZE_DAYS} days; needs --reason`,
        timeAhead,
      )
      .option("--off", "lift the freeze now")
      .description(
        "block apply and rollback until a time; without options, show the freeze. Live changes, such as policy set, go on",
      ),
    {
      operation: "freezeConfig",
      each: ({ until, off }: { until?: string; off?: boolean }) => until === undefined && off === undefined,
    },
    runFreeze,
  );
}

async function runFreeze({ options, args, io }: CommandContext<FreezeOptions>): Promise<void> {
  check(options);
  const tenant = pickTenant(openWorkspace(), args[0] ?? options.tenant);
  const reason = options.until === undefined ? options.reason : await askReason(options, io.prompts, "A freeze");
  await withSession({ ...options, tenant, reason }, io, async (session) =>
    io.output.print(await changed(session.api(), options), view),
  );
}

/** Before the tenant is opened. The database's clock decides in the end. */
function check({ until, off }: FreezeOptions): void {
  if (until === undefined) return;
  if (off) throw new Fault("USAGE", "--until and --off contradict each other");
  const ahead = Date.parse(until) - wallClockMs();
  if (ahead <= 0) throw new Fault("USAGE", `--until must be in the future (got ${until})`);
  if (ahead > MAX_FREEZE_MS) throw new Fault("USAGE", `--until must be at most ${MAX_FREEZE_DAYS} days ahead`);
}

function changed(api: Api, { until, off }: FreezeOptions): Promise<Freeze> {
  if (off) return api.unfreezeConfig({});
  return until === undefined ? api.getFreeze({}) : api.freezeConfig({ until });
}
