import type { Page } from "playwright-core";
import { runInPage } from "./in-page.ts";

/** Begin and end every hostile text, so that our own words can be told from those of strangers. */
export const [OPEN, CLOSE] = ["zq7", "7qz"];
const MARKUP = "<img src=x onerror=hit()>";

const between = (text: string): string => `${OPEN}${text}${CLOSE}`;

/** For fields of plain lines: markup, and letters from right to left that end at a number. */
export const LINE = between(`${MARKUP}\u200b\u05d0\u200f 50`);
export const MORE = between(
  `"'><svg onload=hit()></title></textarea></style><script>hit()</script>\${hit()}{{hit()}}&lt;b&gt;\u05d0`,
);
/** Marks that reverse what follows, and are never closed. */
export const REVERSED = between(`${MARKUP}\u05d0\u202e\u2066`);
/** Marks that close what a page has opened around the text. */
export const BROKEN_OUT = between(`\u2069\u2069\u202c\u202e${MARKUP}\u05d0`);
/** A cell that a spreadsheet would run, an address that a browser would, and words that a shell would. */
export const FORMULA = between("=cmd|' /C calc'!A0");
export const ADDRESS = between("javascript:hit()//\u05d0");
export const COMMAND = `--set=x; touch hit $(hit) \`hit\` '"' ${between("\u202e")}`;
/** As long as a field allows, without a place to break. */
export const long = (length: number): string => between("W".repeat(length - OPEN.length - CLOSE.length));

/** What is wrong with the page as it stands. */
export const wrongWith = (page: Page): Promise<string[]> => runInPage(page, "wrong", { open: OPEN, close: CLOSE });
