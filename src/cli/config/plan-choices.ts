import { type Command, Option } from "commander";
import { blockers, type Choices, contested, isFrozen, loosening } from "../../plan/plan-decision.ts";
import type { Plan } from "../../plan/plan-types.ts";
import type { Io } from "../command.ts";
import { askReason, declined, type Prompts } from "../input/prompts.ts";
import { selectorOption } from "../input/selector-option.ts";
import { notePlan, noteRest, planTable, shownPlan } from "./plan-view.ts";

/** The options that answer a plan's questions in advance. */
export interface ChoiceOptions {
  yes?: boolean | undefined;
  onDrift?: Choices["onDrift"];
  acceptLoosening?: boolean;
  target?: readonly string[];
  /** Names of rules of the tenant file. */
  acceptRule?: string[];
  breakFreeze?: boolean;
}

/** What becomes of drift. */
export const ON_DRIFT = ["fail", "adopt", "overwrite"] as const;

const together = (value: string, before: readonly string[] = []) => [...before, value];

/** The options that answer a plan's questions in advance, with the same texts in every command that plans. */
const ANSWERS = {
  onDrift: () =>
    new Option("--on-drift <what>", "for values that were changed live: stop, keep them, or write the file's").choices(
      ON_DRIFT,
    ),
  acceptLoosening: () => new Option("--accept-loosening", "allow changes that loosen limits"),
  acceptRule: () =>
    new Option("--accept-rule <name>", "approve a rule of the file that asks for it; may be repeated").argParser(
      together,
    ),
  breakFreeze: () => new Option("--break-freeze", "apply although the tenant is frozen; needs --reason"),
};

/** Adds the named options to a command; all of them unless some are named. */
export function takeAnswers(command: Command, ...some: (keyof typeof ANSWERS)[]): Command {
  const names = some.length > 0 ? some : (Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]);
  return names.reduce((taking, name) => taking.addOption(ANSWERS[name]()), command);
}

/** Adds the options that `plan` and `apply` share. */
export function takePlanOptions(command: Command): Command {
  const target = "only this field and those below it, such as policy.feeBps; may be repeated";
  command.addOption(selectorOption()).addOption(new Option("--target <field>", target).argParser(together));
  return takeAnswers(command);
}

/**
 * The reason of an apply, for the audit log. A terminal asks for it where the apply breaks a freeze.
 * @throws Fault USAGE when a freeze is to be broken without a reason, and no terminal can be asked
 */
export async function reasonToApply(
  options: ChoiceOptions & { reason?: string | undefined },
  prompts: Prompts,
): Promise<string | undefined> {
  return options.breakFreeze ? askReason(options, prompts, "--break-freeze") : options.reason;
}

/** The choices that the options alone make. */
export function choicesOf({
  onDrift = "fail",
  acceptLoosening = false,
  acceptRule = [],
  breakFreeze = false,
}: ChoiceOptions): Choices {
  return { onDrift, acceptLoosening, acceptedRules: acceptRule, breakFreeze };
}

/** What the maker of a saved plan decided and accepted. Only the apply says whether it breaks a freeze. */
export interface Accepted {
  /** What to do with drift; undefined where the plan left it open. */
  onDrift?: Choices["onDrift"];
  loosening: boolean;
  /** Names of the approved rules. */
  rules: readonly string[];
}

export function acceptedBy(options: ChoiceOptions): Accepted {
  const { acceptLoosening, acceptedRules = [] } = choicesOf(options);
  return {
    ...(options.onDrift && { onDrift: options.onDrift }),
    loosening: acceptLoosening,
    rules: [...acceptedRules],
  };
}

/** The options of an apply, together with what was accepted when the saved plan was made. */
export function withAccepted<Options extends ChoiceOptions>(options: Options, accepted: Accepted | undefined): Options {
  if (!accepted) return options;
  const onDrift = options.onDrift ?? accepted.onDrift;
  return {
    ...options,
    ...(onDrift && { onDrift }),
    acceptLoosening: options.acceptLoosening === true || accepted.loosening,
    acceptRule: [...(options.acceptRule ?? []), ...accepted.rules],
  };
}

/** The choices that a repeat under an idempotency key must share; undefined without a key. */
export function repeatableBy(options: ChoiceOptions & { idempotencyKey?: string | undefined }): Choices | undefined {
  return options.idempotencyKey === undefined ? undefined : choicesOf(options);
}

/**
 * Answers by flags and, on a terminal, by questions; either way the plan is shown first. Without a terminal, what no flag
 * allows is refused.
 * @param backTo the apply that a rollback goes back to
 * @throws Fault REFUSED when the answer is no
 */
export function chooserOf(options: ChoiceOptions, io: Io, backTo?: number): (plan: Plan) => Promise<Choices> {
  return async (plan) => {
    const flags = choicesOf(options);
    if (asksAbout(plan, options, io))
      return ask(plan, flags, { driftDecided: options.onDrift !== undefined, backTo }, io);
    // What an earlier apply was told to keep is no news.
    const news = plan.items.filter(({ kind }) => kind !== "adopted");
    notePlan(shownPlan({ ...plan, items: news }, flags), io.output);
    return flags;
  };
}

/** Whether the operator is asked about a plan, and so has seen all of it. */
export function asksAbout(
  plan: Plan,
  { yes, breakFreeze }: Pick<ChoiceOptions, "yes" | "breakFreeze">,
  { prompts }: Pick<Io, "prompts">,
): boolean {
  if (isFrozen(plan, { breakFreeze })) return false;
  return yes !== true && prompts.available && !plan.empty && blockers(plan).length === 0;
}

async function ask(
  plan: Plan,
  flags: Choices,
  { driftDecided, backTo }: { driftDecided: boolean; backTo: number | undefined },
  { output, prompts }: Io,
): Promise<Choices> {
  const shown = shownPlan(plan, flags);
  output.explain([shown], planTable([shown], backTo === undefined ? "FILE" : `APPLY ${backTo}`));
  noteRest(shown, output);
  let { onDrift, acceptLoosening } = flags;
  if (contested(plan).length > 0) {
    if (!driftDecided) {
      const whose = backTo === undefined ? "the file's" : `those of apply ${backTo}`;
      if (!(await prompts.confirm(`Live values were changed. Overwrite them with ${whose}?`))) {
        output.note(
          backTo === undefined
            ? "To keep them: `pmctl drift --write` puts them into the file, --on-drift adopt leaves the file as it is"
            : "To keep them: --on-drift adopt",
        );
        throw declined();
      }
      onDrift = "overwrite";
    } else if (onDrift === "fail") return flags;
  }
  const loosens = loosening(plan, { onDrift }).length > 0 && !acceptLoosening;
  if (!(await prompts.confirm(loosens ? "This LOOSENS limits. Apply it?" : "Apply it?"))) throw declined();
  if (loosens) acceptLoosening = true;
  const acceptedRules = (plan.rules ?? []).map(({ name }) => name);
  return { ...flags, onDrift, acceptLoosening, acceptedRules };
}
