import { expect, test } from "vitest";
import { CATALOGUES } from "../../src/locales/catalogues.ts";
import { type OpenProposal, proposalSentences } from "../../src/locales/proposal-sentences.ts";
import { speakerFor } from "../../src/locales/speaker.ts";

const SPEAKER = speakerFor("en", CATALOGUES.en, { timeZone: "UTC" });
const FINAL_AT = "2030-01-01T12:00:00.000Z";
const proposal: OpenProposal = {
  ...{ kind: "void", outcome: "void", reason: null, finalAt: FINAL_AT, objections: 0 },
  ...{ approvals: 2, approvalsNeeded: 2 },
};

test.each([
  ["its time", { now: -1 }, []],
  ["an approval", { now: -1, approvals: 1 }, ["It waits for approval."]],
  ["an approval after its time", { now: 0, approvals: 1 }, ["It waits for approval."]],
  ["its execution", { now: 0 }, ["This time has passed: a decision is due."]],
])("a proposal says that it waits for %s", (_, { now, ...change }, expected) => {
  const [, ...more] = proposalSentences(SPEAKER, { ...proposal, ...change }, Date.parse(FINAL_AT) + now);
  expect(more.map((pieces) => pieces.join(""))).toEqual(expected);
});
