import { readFileSync } from "node:fs";
import type { Frame, Page } from "playwright-core";

/** A function of the folder `in-page`, as text for a page. */
export const codeOf = (file: string): string =>
  readFileSync(new URL(`./in-page/${file}.js`, import.meta.url), "utf8").replace("export default ", "");

/** Runs such a function in a page. */
export function runInPage<Found>(page: Page | Frame, file: string, given: unknown = null): Promise<Found> {
  return page.evaluate(`(${codeOf(file)})(${JSON.stringify(given)})`);
}
