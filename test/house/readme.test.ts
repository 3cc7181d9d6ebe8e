import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

test("the README has at most 120 lines and 600 words", () => {
  expect(readme.split("\n").length).toBeLessThanOrEqual(121);
  expect(words(readme)).toBeLessThanOrEqual(600);
});

test("its first commands are the demo and the tests, after a title, a sentence, a picture and at most five lines", () => {
  const [before = "", block = ""] = readme.replace(/```mermaid\n[\s\S]*?```/, "").split("```");
  expect(block.replace(/^sh\n/, "").trim().split("\n")).toEqual([
    expect.stringMatching(/^npm ci && npx pmctl demo {6}# \S/),
    expect.stringMatching(/^npm ci && npm test {12}# \S/),
  ]);
  const [, , ...lines] = before.split("\n").filter((line) => line !== "");
  expect(lines.length).toBeLessThanOrEqual(5);
});

/** Words that a reader sees: no addresses of links, no rules of tables. */
function words(text: string): number {
  return text.replace(/\]\([^)]*\)/g, "]").match(/[\p{L}\d][\p{L}\d'.,/-]*/gu)?.length ?? 0;
}
