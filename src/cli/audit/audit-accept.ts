import type { Command } from "commander";
import type { Accepted } from "../../app/audit/accept-rollback.ts";
import { Fault } from "../../domain/fault.ts";
import type { Globals, Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { mustAsk } from "../input/prompts.ts";
import type { View } from "../output/output.ts";

const acceptedView: View<Accepted, Accepted> = {
  kind: "record",
  fields: ({ anchor, head, lost, seq }) => [
    ["given up", anchor ? `entry ${anchor.seq} ${anchor.hash}` : "nothing"],
    ["head", `entry ${head.seq} ${head.hash}`],
    ["entries lost", String(lost)],
    ["on record as", seq === null ? "nothing" : `entry ${seq}`],
  ],
};

export function registerAcceptRollback(noun: Command, host: Host): void {
  host.add(
    noun
      .command("accept-rollback")
      .description("go on with a log that was set back: its lost entries are given up, on record; needs --reason"),
    { names: "anchor head lost seq" },
    ({ options, io }) => runAcceptRollback(options, io),
  );
}

/**
 * Goes straight to the database: an admin key of a server is not enough for it.
 * @throws Fault USAGE without a reason; INTEGRITY when the chain itself does not hold
 */
export async function runAcceptRollback(options: Globals, io: Io): Promise<ExitCode> {
  if (options.via === "http" || options.url !== undefined)
    throw new Fault("USAGE", "A rollback is accepted at the database: leave out --url and --via http");
  const { checkReason } = await import("../../app/tenant/actor.ts");
  const reason = checkReason(options.reason);
  if (reason === undefined) throw new Fault("USAGE", "Say why the lost entries are given up: add --reason TEXT");
  const asks = mustAsk(options, io.prompts);
  const { acceptSetBack } = await import("../../app/audit/accept-rollback.ts");
  const accepted = await acceptSetBack({ tenant: options.tenant, reason }, async ({ lost, anchor }, tenant) => {
    if (!asks) return;
    io.output.note(`At least ${lost} entries are gone for good: ${anchor.source}, entry ${anchor.seq}.`);
    await io.prompts.type("To go on without them, type the tenant's name", tenant);
  });
  await io.output.print(accepted, acceptedView);
  if (accepted.seq === null) io.output.note("The log was not set back: nothing was changed.");
  return EXIT.ok;
}
