import type { Command } from "commander";
import type { SetBack } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import type { AcceptedRollback } from "../../services/anchors/accept-rollback.ts";
import type { Globals, Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { mustAsk } from "../input/prompts.ts";
import type { View } from "../output/output.ts";

/** What is printed; a log that was not set back has no anchor to give up, and no entry is written. */
interface Accepted {
  anchor: AcceptedRollback["anchor"] | null;
  head: AcceptedRollback["head"];
  lost: number;
  seq: number | null;
}

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
  const { checkReason, operatorActor } = await import("../../app/tenant/session.ts");
  const reason = checkReason(options.reason);
  if (reason === undefined) throw new Fault("USAGE", "Say why the lost entries are given up: add --reason TEXT");
  const asks = mustAsk(options, io.prompts);
  const [{ openForRollback }, { acceptRollback }] = await Promise.all([
    import("../../app/tenant/rollback-session.ts"),
    import("../../services/anchors/accept-rollback.ts"),
  ]);
  const { tenant, directory, services, known } = await openForRollback(options.tenant);
  try {
    const { setBack, head } = await examine(services, known);
    if (!setBack) {
      await io.output.print({ anchor: null, head, lost: 0, seq: null }, acceptedView);
      io.output.note("The log was not set back: nothing was changed.");
      return EXIT.ok;
    }
    if (asks) {
      io.output.note(
        `At least ${setBack.lost} entries are gone for good: ${setBack.anchor.source}, entry ${setBack.anchor.seq}.`,
      );
      await io.prompts.type("To go on without them, type the tenant's name", tenant);
    }
    const { sequencer, auditKey, checks: reader, auditKeys: keys } = services;
    const accepted = await acceptRollback(setBack, {
      sequencer,
      auditKey,
      reader,
      keys,
      verified: { seq: BigInt(head.seq), hash: head.hash },
      tenant,
      directory,
      actor: operatorActor(),
      reason,
    });
    await io.output.print(accepted, acceptedView);
    return EXIT.ok;
  } finally {
    await services.close();
  }
}

type Opened = Awaited<ReturnType<typeof import("../../app/tenant/rollback-session.ts").openForRollback>>;

/** What is lost of a log that holds otherwise. */
async function examine(
  { checks, auditKeys }: Opened["services"],
  known: Opened["known"],
): Promise<{ setBack: SetBack | undefined; head: AcceptedRollback["head"] }> {
  const [{ verifyChain }, { findSetBack }] = await Promise.all([
    import("../../services/audit/audit-verifier.ts"),
    import("../../services/anchors/set-back.ts"),
  ]);
  const { broken, head, count } = await verifyChain(checks, auditKeys);
  if (broken) throw new Fault("INTEGRITY", `The chain itself does not hold (${broken.kind}): ${broken.problem}`);
  return { setBack: await findSetBack(checks, auditKeys, known), head: { seq: Number(count), hash: head } };
}
