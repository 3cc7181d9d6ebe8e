import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT));
const { version: taken, sha256 } = JSON.parse(read("docs/pictures/manifest.json").toString()) as {
  version: string;
  sha256: Record<string, string>;
};
const MOST_BYTES = 150_000;

test("the README's pictures are those that `npm run pictures` took of this version, each of less than 150 KB", () => {
  expect(taken).toBe(manifest.version);
  const shown = [
    ...read("README.md")
      .toString()
      .matchAll(/docs\/pictures\/([\w-]+\.(?:png|jpg))/g),
  ].map(([, name]) => name);
  expect(new Set(shown)).toEqual(new Set(Object.keys(sha256)));
  for (const [name, sum] of Object.entries(sha256)) {
    const bytes = read(`docs/pictures/${name}`);
    expect(bytes.length, name).toBeLessThan(MOST_BYTES);
    expect(createHash("sha256").update(bytes).digest("hex"), name).toBe(sum);
  }
});
