import { NO_CAP_MINOR } from "../../domain/trader.ts";
import { defineCommand, verbs } from "../define-command.ts";
import { identifier, jsonObject } from "../input/parsers.ts";
import { time, usd } from "../output/cells.ts";

interface UserOption {
  user: string;
}

const cap = (minor: number) => (minor === NO_CAP_MINOR ? "none" : usd(minor / 100));

export const suitabilityShow = defineCommand({
  name: "show",
  summary: "show the result of a user's last assessment",
  takes: (command) => command.requiredOption("--user <id>", "the user", identifier),
  operation: "getSuitability",
  onBehalfOf: ({ user }: UserOption) => user,
  ofKnownUser: true,
  fields: ({ completed, score, exposureCapMinor, updatedAt }) => [
    ["completed", completed ? "yes" : "no"],
    ["score", score?.toString()],
    ["exposure cap", exposureCapMinor === undefined ? undefined : cap(exposureCapMinor)],
    ["updated", updatedAt && time(updatedAt, { seconds: true })],
  ],
});

export const suitabilitySubmit = defineCommand({
  name: "submit",
  summary: "submit an assessment for a user; the audit log names you as the actor",
  takes: (command) =>
    command
      .requiredOption("--user <id>", "the user", identifier)
      .requiredOption("--answers <json>", 'scores of 0 to 4 by question, such as {"q1": 3, "q2": 4}', jsonObject),
  operation: "submitSuitability",
  input: ({ options: { answers } }) => ({ answers: answers as Record<string, number> }),
  onBehalfOf: ({ user }: UserOption & { answers: Record<string, unknown> }) => user,
  fields: ({ score, exposureCapMinor, passed }) => [
    ["score", String(score)],
    ["exposure cap", cap(exposureCapMinor)],
    ["passed", passed ? "yes" : "NO: trading is blocked"],
  ],
});

export const register = verbs(suitabilityShow, suitabilitySubmit);
