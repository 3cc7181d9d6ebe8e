import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { FAULT_CODES } from "../../src/domain/fault.ts";
import { referencePages } from "./pages.ts";
import { publisherPage } from "./publisher-page.ts";

const PLACE = new URL("../../docs/reference/", import.meta.url).pathname;
const pages = await referencePages();

test.each(Object.keys(pages))(
  "docs/reference/%s is what the code says; `npm run docs:reference` writes it",
  async (name) => {
    await expect(pages[name]).toMatchFileSnapshot(`${PLACE}${name}`);
  },
);

test("each field of docs/reference/events.md has a description", () => {
  const page = pages["events.md"] ?? "";
  expect(page.match(/^\| field \| type \|$/gm) ?? []).toEqual([]);
  expect(page.match(/^\| `.*\| *\|$/gm) ?? []).toEqual([]);
});

test("the lists of docs/guides/publisher.md are what the types of the widget say", async () => {
  await expect(publisherPage()).toMatchFileSnapshot(
    new URL("../../docs/guides/publisher.md", import.meta.url).pathname,
  );
});

test("docs/reference holds these pages alone, and each error code has an anchor, a cause and a remedy", () => {
  expect(readdirSync(PLACE).toSorted()).toEqual(Object.keys(pages).toSorted());
  for (const code of FAULT_CODES)
    expect(pages["errors.md"]).toMatch(new RegExp(`\\n## ${code}\\n\\n[A-Z].*\\.\\n\\n[A-Z].*\\.\\n\\nHTTP status`));
});
