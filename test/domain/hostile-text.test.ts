import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { undecidedChecks } from "../../src/client/inbox/waiting.ts";
import { pmctlAbout } from "../../src/client/terminal-line.ts";
import type { Api } from "../../src/contract/operations.ts";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { sentenceOf } from "../../src/domain/audit/sentence.ts";
import { balanced, isolated, shellWord } from "../../src/domain/text.ts";

const [LRI, FSI, PDI, RLO, ALEF] = ["\u2066", "\u2068", "\u2069", "\u202e", "\u05d0"];

test("a text opens and closes no isolate but its own; whatever it is, it stands there whole", () => {
  const depthOf = (text: string): number[] => {
    let [depth, least] = [0, 0];
    for (const mark of text) {
      if (/[\u2066-\u2068]/.test(mark)) depth += 1;
      if (mark === PDI) depth -= 1;
      least = Math.min(least, depth);
    }
    return [depth, least];
  };
  for (const text of [
    "",
    "plain",
    PDI,
    LRI,
    `${PDI}${PDI}${RLO}x`,
    `${LRI}${LRI}x${PDI}`,
    `x${PDI}${LRI}`,
    `${FSI}x${PDI}`,
  ]) {
    expect([text, ...depthOf(balanced(text))]).toEqual([text, 0, 0]);
    expect(balanced(text)).toContain(text);
  }
  expect(balanced(`${FSI}x${PDI}`)).toBe(`${FSI}x${PDI}`);
  expect(isolated("Zürich 日本 👍")).toBe("Zürich 日本 👍");
  for (const name of [ALEF, "a\u200f", RLO, "\u0645", "\u{1e900}"])
    expect(isolated(name)).toMatch(/^\u2068.*\u2069$/su);
});

test("a sentence keeps names of any script apart from its own words", () => {
  const told = (userId: string, reason?: string) =>
    sentenceOf({
      type: "withdrawal.approved",
      actor: "admin:ops",
      payloadText: canonicalJson({ userId, amount: "950", withdrawalId: "w", ...(reason && { reason }) }),
    });
  expect(told("ann", "known")).toBe('admin:ops approved the withdrawal of $950.00 by ann: "known"');
  expect(told(`ann${RLO}`, ALEF)).toBe(
    `admin:ops approved the withdrawal of $950.00 by ${FSI}ann${RLO}${PDI}: "${FSI}${ALEF}${PDI}"`,
  );
});

test("a word for a shell is one word, without anything invisible, and says what it said", () => {
  for (const text of [
    "plain",
    "two words",
    "it's",
    '$(id) `id` \\ " ! * ~',
    "line\nbreak\ttab",
    `a${RLO}b\u200bc\u2029d'e\\f`,
    "-x",
    "é日👍",
  ]) {
    const word = shellWord(text);
    expect(word).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(
      execFileSync("bash", ["--norc", "-c", `printf %s ${word}`], {
        encoding: "utf8",
        env: { LC_ALL: "C.UTF-8", PATH: process.env.PATH },
      }),
    ).toBe(text);
  }
  expect(pmctlAbout("acme", "--url=x", "user", "show")).toBe("pmctl user show -t acme -- --url=x");
});

test("commands that inbox proposes about an identity check quote what the provider and the user chose", async () => {
  const payload = {
    userId: "u; touch hit",
    provider: "$(touch hit)",
    status: "odd",
    verifiedAt: "2030-01-01T00:00:00Z",
  };
  const entries = [{ seq: 1, ts: "2030-01-01T00:00:00Z", payload }];
  const api = {
    listAudit: async ({ type }: { type: string }) => ({ entries: type === "kyc.unrecognised" ? entries : [] }),
  };
  const [found] = await undecidedChecks("acme", api as unknown as Api, 0);
  expect(found?.commands).toEqual([
    "pmctl user show 'u; touch hit' -t acme",
    "pmctl webhook send kyc.passed --set 'userId=u; touch hit' --set 'provider=$(touch hit)' --as-provider -t acme",
  ]);
});
