import { randomBytes } from "node:crypto";
import type { FleetRun, Outcome, Stands, Steps } from "../../app/fleet/fleet-run.ts";
import { LONGEST_REASON } from "../../app/tenant/actor.ts";
import { ALLOW_EXEC, loadEnvironment } from "../../config/environment.ts";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { FLEET_FILE } from "../../config/selection/names.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { isoTime, wallClockMs } from "../../domain/time/clock.ts";
import { type CommandContext, type Globals, type Io, withConfig } from "../command.ts";
import { type ChoiceOptions, choicesOf, reasonToApply } from "../config/plan-choices.ts";
import { EXIT, type ExitCode, failureOf } from "../errors.ts";
import { declined, mustAsk } from "../input/prompts.ts";
import { openReceipts, type ReceiptBook } from "../output/receipts.ts";
import { type Fleet, type Member, readFleet } from "./read-fleet.ts";
import { printRun, summariseRun } from "./run-view.ts";

export interface FleetApplyOptions extends ChoiceOptions {
  restart?: boolean;
}

type Options = Globals & FleetApplyOptions;

/**
 * Applies the fleet wave by wave, or continues the unfinished run of the same files.
 *
 * @throws Fault USAGE when a gate runs a program and --allow-exec is absent; REFUSED when nothing was written
 */
export async function runFleetApply({
  options: given,
  io,
  interrupts,
}: CommandContext<FleetApplyOptions>): Promise<ExitCode> {
  const fleet = readFleet(given);
  requireExec(fleet);
  const options = { ...given, reason: await reasonToApply(given, io.prompts) };
  if (mustAsk(options, io.prompts) && !(await io.prompts.confirm(`Apply ${counted(fleet.count, "tenant")}?`)))
    throw declined();
  const [{ whileAlone, writeRun }, { carryOut }, { hasWritten }] = await Promise.all([
    import("../../app/fleet/kept-run.ts"),
    import("../../app/fleet/fleet-run.ts"),
    import("../../app/fleet/fleet-run.ts"),
  ]);
  const receipts = openReceipts(options, io.output);
  const signal = interrupts.take();
  const run = await whileAlone(fleet.directory, async () => {
    const current = await runToCarryOut(fleet, options, io);
    const save = (kept: FleetRun) => writeRun(fleet.directory, kept);
    const steps = await stepsOf(fleet, options, { ...io, receipts, signal, save, run: current });
    const plans = fleet.waves.map(({ wave }) => wave);
    await carryOut(current, steps, { plans, signal, now: () => isoTime(wallClockMs()) });
    return current;
  }).finally(() => receipts.close());
  await printRun(run, io.output);
  summariseRun(run, io.output);
  if (run.state === "done") return EXIT.ok;
  if (run.state === "interrupted") return EXIT.interrupted;
  if (hasWritten(run)) return EXIT.partly;
  throw new Fault("REFUSED", "The fleet was not applied, and nothing was written");
}

/** A fleet's file may come with a stranger's pull request, so its programs run only when the operator allows it. */
function requireExec({ directory, waves }: Fleet): void {
  const { wave } = waves.find(({ wave: each }) => each.gate.command !== undefined) ?? {};
  if (wave && loadEnvironment(directory)[ALLOW_EXEC] !== "1")
    throw new Fault("USAGE", `The gate of ${wave.name} in ${FLEET_FILE} runs a program: allow it with --allow-exec`);
}

async function runToCarryOut(fleet: Fleet, { restart }: FleetApplyOptions, { output }: Io): Promise<FleetRun> {
  const [{ readRun }, { newRun }] = await Promise.all([
    import("../../app/fleet/kept-run.ts"),
    import("../../app/fleet/fleet-run.ts"),
  ]);
  const files = await digestOf(fleet);
  const last = restart ? undefined : readRun(fleet.directory);
  if (last && last.state !== "done" && last.files === files) {
    output.note(`Continuing the run ${last.run}`);
    return last;
  }
  if (last && last.state !== "done") output.note(`The files changed since the run ${last.run}: starting a new run`);
  const waves = fleet.waves.map(({ wave, members }) => ({
    name: wave.name,
    tenants: members.map(({ tenant }) => tenant),
  }));
  const startedAt = isoTime(wallClockMs());
  // Unique even when two directories start within a second, because the audit log finds a run's changes by this name.
  const run = `${startedAt.replaceAll(/[-:]|\.\d+/g, "")}-${randomBytes(4).toString("hex")}`;
  return newRun({ run, files, startedAt }, waves);
}

async function digestOf({ directory, waves }: Fleet): Promise<string> {
  const { digestOfFiles } = await import("../../app/fleet/kept-run.ts");
  return digestOfFiles(
    directory,
    waves.flatMap(({ members }) => members.map(({ tenant }) => tenant)),
  );
}

interface StepIo extends Io {
  run: Pick<FleetRun, "run" | "files">;
  receipts: ReceiptBook;
  signal: AbortSignal;
  save: (run: FleetRun) => void;
}

async function stepsOf(
  fleet: Fleet,
  options: Options,
  { output, receipts, signal, save, run }: StepIo,
): Promise<Steps> {
  const [{ applyInRun, rollBackInRun }, { lookAtGate }, { reasonOfRun }] = await Promise.all([
    import("../../app/fleet/change-tenant.ts"),
    import("../../app/fleet/gate.ts"),
    import("../../app/fleet/fleet-run.ts"),
  ]);
  const mark = reasonOfRun(run);
  const reason = recordedReason(mark, options.reason);
  const { directory } = fleet;
  const read = () => new DirectorySecrets(directory);
  let others = read();
  const choices = choicesOf(options);
  const members = new Map(fleet.waves.flatMap((each) => each.members).map((member) => [member.tenant, member]));
  const waves = new Map(fleet.waves.map((each) => [each.wave.name, each]));
  const sessionOptions = ({ tenant, statedUrl: fleetUrl }: Member) => ({ ...options, tenant, fleetUrl });
  // Each tenant's line shows its audit entry, so only the file of receipts is left to write.
  const speaking = { output, ...(options.receipt !== undefined && { onSealed: receipts.onSealed }) };
  const withMember = <Value>(tenant: string, work: Parameters<typeof withConfig<Value>>[4]) =>
    withConfig(
      directory,
      tenant,
      { ...options, reason, fleetUrl: members.get(tenant)?.statedUrl, others },
      speaking,
      work,
    );

  return {
    filesChanged: async () => {
      // A run may take hours, and secrets may be replaced during it.
      others = read();
      return (await digestOf(fleet)) !== run.files;
    },
    apply: async (tenant, earlier, keep) => {
      let isIn: boolean | undefined;
      const stands: Stands = (standing, earlierIsIn) => {
        isIn = earlierIsIn;
        keep(standing, earlierIsIn);
      };
      try {
        return await withMember(tenant, (session) => applyInRun(session, choices, { mark, earlier, stands }));
      } catch (error) {
        return failedOutcome(error, isIn);
      }
    },
    rollBack: async (tenant, standing) => {
      try {
        return await withMember(tenant, (session) =>
          rollBackInRun(session, standing, { mark, breakFreeze: choices.breakFreeze }),
        );
      } catch (error) {
        return { ...failedOutcome(error, undefined), state: "failed" };
      }
    },
    gate: async (name, found) => {
      const { wave, members: tenants } = waves.get(name) ?? {};
      if (!wave || !tenants) return;
      const gated = tenants.map((member) => ({ ...member, options: sessionOptions(member) }));
      const note = (message: string) => output.note(message);
      const { parallelism } = wave;
      await lookAtGate(wave.gate, gated, { wave: name, directory, parallelism, signal, note, found });
    },
    save,
    tell: (line) => output.note(line),
  };
}

/** @throws Fault USAGE when the operator's reason leaves no room for the name of the run */
function recordedReason(mark: string, stated: string | undefined): string {
  const most = LONGEST_REASON - mark.length - 2;
  if (stated !== undefined && stated.length > most)
    throw new Fault(
      "USAGE",
      `--reason must have at most ${most} characters here (got ${stated.length}), because the run's name goes before it`,
    );
  return stated === undefined || stated === "" ? mark : `${mark}: ${stated}`;
}

/**
 * A refused apply has written nothing; an apply that lost the network or the database may have written.
 * @param isIn whether an earlier attempt of the run had written; undefined where that is unknown
 */
function failedOutcome(error: unknown, isIn: boolean | undefined): Outcome {
  const { exit, code, message = "" } = failureOf(error);
  const isRefusal = exit !== EXIT.unreachable && exit !== EXIT.unexpected && code !== "OUTCOME_UNKNOWN";
  return {
    state: isRefusal ? "refused" : "failed",
    seq: null,
    problem: message,
    ...(isRefusal && isIn !== undefined ? { wrote: isIn } : {}),
  };
}
