import type { Page } from "playwright-core";
import { runInPage } from "./in-page.ts";

/** Begin and end every hostile text, so that our own words can be told from those of strangers. */
const [OPEN, CLOSE] = ["zq7", "7qz"];
const MARKUP = `<img src=x onerror=hit()>`;
const MORE = `"'><svg onload=hit()></title></textarea></style><script>hit()</script>\${hit()}{{hit()}}`;

/** A text for fields of plain lines: markup and letters from right to left, which end at a number. */
export const LINE = `${OPEN}${MARKUP}\u200b\u05d0\u200f 50${CLOSE}`;
/** Marks that reverse what follows, and are never closed. */
export const REVERSED = `${OPEN}${MARKUP}\u05d0\u202e\u2066${CLOSE}`;
/** Marks that close what a page has opened around the text. */
export const BROKEN_OUT = `${OPEN}\u2069\u2069\u202c\u202e${MARKUP}\u05d0${CLOSE}`;
/** As long as a field allows, without a place to break. */
export const long = (length: number): string => `${OPEN}${"W".repeat(length - 6)}${CLOSE}`;
export const MARKUP_LINE = `${OPEN}${MORE}\u05d050${CLOSE}`;
/** A cell that a spreadsheet would run, and an address that a browser would. */
export const FORMULA = `=cmd|' /C calc'!A0${OPEN}${MARKUP}${CLOSE}`;
export const ADDRESS = `javascript:hit()//${OPEN}\u05d0${CLOSE}`;

/** What is wrong with the page as it stands. */
export const wrongWith = (page: Page): Promise<string[]> => runInPage(page, "wrong", { open: OPEN, close: CLOSE });
