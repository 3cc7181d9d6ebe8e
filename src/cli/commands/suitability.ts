import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { NO_CAP_MINOR } from "../../domain/trader.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { identifier, jsonObject } from "../input/parsers.ts";
import { time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Status = WireResult<"getSuitability">;
type Submitted = WireResult<"submitSuitability">;

export interface SubmitOptions {
  answers: Record<string, unknown>;
}

export function register(noun: Command, host: Host): void {
  noun
    .command("show")
    .description("what a user's last assessment came to")
    .requiredOption("--user <id>", "whose", identifier)
    .action(
      host.action<{ user: string }>(({ options, io }) =>
        withSession(options, io, (session) => runSuitabilityShow({}, session.api(options.user), io)),
      ),
    );
  noun
    .command("submit")
    .description("submit an assessment for a user; recorded with you as the actor")
    .requiredOption("--user <id>", "whose", identifier)
    .requiredOption("--answers <json>", 'scores of 0 to 4 by question, such as {"q1": 3, "q2": 4}', jsonObject)
    .action(
      host.action<SubmitOptions & { user: string }>(({ options, io }) =>
        withSession(options, io, (session) => runSuitabilitySubmit(options, session.api(options.user), io)),
      ),
    );
}

const cap = (minor: number) => (minor === NO_CAP_MINOR ? "none" : usd(minor / 100));

const statusView: View<Status, Status> = {
  kind: "record",
  fields: ({ completed, score, exposureCapMinor, updatedAt }) => [
    ["completed", completed ? "yes" : "no"],
    ...(score === undefined ? [] : ([["score", String(score)]] as [string, string][])),
    ...(exposureCapMinor === undefined ? [] : ([["exposure cap", cap(exposureCapMinor)]] as [string, string][])),
    ...(updatedAt === undefined ? [] : ([["updated", time(updatedAt, { seconds: true })]] as [string, string][])),
  ],
};

const submittedView: View<Submitted, Submitted> = {
  kind: "record",
  fields: ({ score, exposureCapMinor, passed }) => [
    ["score", String(score)],
    ["exposure cap", cap(exposureCapMinor)],
    ["passed", passed ? "yes" : "NO: trading is blocked"],
  ],
};

/** @param api acts on behalf of the user */
export async function runSuitabilityShow(_: object, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.getSuitability({}), statusView);
  return EXIT.ok;
}

/** @param api acts on behalf of the user */
export async function runSuitabilitySubmit({ answers }: SubmitOptions, api: Api, { output }: Io): Promise<ExitCode> {
  // What the answers may be is for the contract to say.
  await output.print(await api.submitSuitability({ answers: answers as Record<string, number> }), submittedView);
  return EXIT.ok;
}
