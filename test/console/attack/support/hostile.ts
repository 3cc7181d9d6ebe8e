import type { Page } from "playwright-core";

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

/** Runs in the page before its own scripts: whatever strangers' texts would call, and what the policy refused. */
export function setTraps(): void {
  const trap = window as unknown as { caught: string[]; hit(): void };
  trap.caught = [];
  trap.hit = () => void trap.caught.push("a script ran");
  addEventListener("securitypolicyviolation", ({ violatedDirective }) => trap.caught.push(violatedDirective));
}

/** What is wrong with the page as it stands. */
export function wrongWith(page: Page): Promise<string[]> {
  return page.evaluate(
    ([open = "", close = ""]) => {
      const found = [...(window as unknown as { caught: string[] }).caught];
      const foreign = "img, iframe, object, embed, base, meta[http-equiv], form[action], body script, body style, body link";
      for (const element of document.querySelectorAll(foreign)) found.push(`element: ${element.outerHTML}`);
      for (const element of document.querySelectorAll("*")) {
        const handler = element.getAttributeNames().find((name) => name.startsWith("on"));
        if (handler) found.push(`handler: ${element.outerHTML}`);
      }
      for (const { href } of document.querySelectorAll("a")) {
        const { origin, pathname } = new URL(href);
        if (origin !== location.origin || !pathname.startsWith("/console")) found.push(`link: ${href}`);
      }
      const { scrollWidth, clientWidth } = document.documentElement;
      if (scrollWidth > clientWidth) found.push(`scrolls sideways: ${scrollWidth} > ${clientWidth}`);

      // Our words in reading order: none is left of, or above, the one before it in its own block.
      const blocks = new Map<Element, Text[]>();
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
        let block = node.parentElement;
        while (block && /^(inline|contents)$/.test(getComputedStyle(block).display)) block = block.parentElement;
        if (block) blocks.set(block, [...(blocks.get(block) ?? []), node]);
      }
      for (const texts of blocks.values()) {
        const whole = texts.map(({ data }) => data).join("");
        if (!whole.includes(open)) continue;
        const foreignAt = [...whole.matchAll(new RegExp(`${open}.*?(${close}|$)`, "gs"))];
        const isForeign = (at: number) => foreignAt.some(({ 0: text, index }) => at >= index && at < index + text.length);
        const range = document.createRange();
        let start = 0;
        let before: DOMRect | undefined;
        for (const text of texts) {
          for (let at = 0; at < text.length; at += 1) {
            if (isForeign(start + at) || !/[A-Za-z0-9$]/.test(text.data[at] ?? "")) continue;
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            const rect = range.getBoundingClientRect();
            if (rect.width === 0) continue;
            const isSameLine = before && Math.abs(rect.top - before.top) < rect.height / 2;
            if (before && (isSameLine ? rect.left < before.left - 0.5 : rect.top < before.top)) {
              found.push(`moved: ${text.data[at]} at ${start + at} of ${whole}`);
              before = undefined;
              break;
            }
            before = rect;
          }
          start += text.length;
        }
      }
      return found;
    },
    [OPEN, CLOSE],
  );
}
