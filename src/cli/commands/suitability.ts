import type { Command } from "commander";
import { NO_CAP_MINOR } from "../../domain/trader.ts";
import type { Host } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { knownUser } from "../input/names.ts";
import { identifier, jsonObject } from "../input/parsers.ts";
import { time, usd } from "../output/cells.ts";

interface UserOption {
  user: string;
}

export function register(noun: Command, host: Host): void {
  suitabilityShow.register(noun, host);
  suitabilitySubmit.register(noun, host);
}

const cap = (minor: number) => (minor === NO_CAP_MINOR ? "none" : usd(minor / 100));

export const suitabilityShow = defineCommand({
  name: "show",
  summary: "the result of a user's last assessment",
  takes: (command) => command.requiredOption("--user <id>", "the user", identifier),
  operation: "getSuitability",
  input: async ({ options: { user } }, _, session) => {
    await knownUser(user, session.api());
    return {};
  },
  onBehalfOf: ({ user }: UserOption) => user,
  view: {
    kind: "record",
    fields: ({ completed, score, exposureCapMinor, updatedAt }): [string, string][] => [
      ["completed", completed ? "yes" : "no"],
      ...(score === undefined ? [] : ([["score", String(score)]] as [string, string][])),
      ...(exposureCapMinor === undefined ? [] : ([["exposure cap", cap(exposureCapMinor)]] as [string, string][])),
      ...(updatedAt === undefined ? [] : ([["updated", time(updatedAt, { seconds: true })]] as [string, string][])),
    ],
  },
});

export const suitabilitySubmit = defineCommand({
  name: "submit",
  summary: "submit an assessment for a user; recorded with you as the actor",
  takes: (command) =>
    command
      .requiredOption("--user <id>", "the user", identifier)
      .requiredOption("--answers <json>", 'scores of 0 to 4 by question, such as {"q1": 3, "q2": 4}', jsonObject),
  operation: "submitSuitability",
  // The operation's schema checks the answers.
  input: ({ options: { answers } }) => ({ answers: answers as Record<string, number> }),
  onBehalfOf: ({ user }: UserOption & { answers: Record<string, unknown> }) => user,
  view: {
    kind: "record",
    fields: ({ score, exposureCapMinor, passed }) => [
      ["score", String(score)],
      ["exposure cap", cap(exposureCapMinor)],
      ["passed", passed ? "yes" : "NO: trading is blocked"],
    ],
  },
});
