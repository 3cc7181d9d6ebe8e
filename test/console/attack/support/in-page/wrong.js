/** What is wrong with the page as it stands: scripts that ran, foreign elements and links, and our words that strangers' texts moved. */
export default function wrongWith({ open, close }) {
  const found = [...window.caught];
  const foreign =
    "img, iframe, object, embed, base, meta[http-equiv], form[action], body script, body style, body link";
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
  if (scrollWidth > clientWidth) {
    const scrolls = (element) =>
      element !== null && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    const wide = [...document.body.querySelectorAll("*")].filter(
      (each) => each.getBoundingClientRect().right > clientWidth && !scrolls(each),
    );
    found.push(`scrolls sideways by ${scrollWidth - clientWidth}: ${wide.at(-1)?.outerHTML.slice(0, 300)}`);
  }

  // Our words in reading order: none is left of, or above, the one before it in its own block.
  const blocks = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    let block = node.parentElement;
    while (block && /^(inline|contents)$/.test(getComputedStyle(block).display)) block = block.parentElement;
    if (block) blocks.set(block, [...(blocks.get(block) ?? []), node]);
  }
  for (const texts of blocks.values()) {
    const whole = texts.map(({ data }) => data).join("");
    if (!whole.includes(open)) continue;
    const foreignAt = [...whole.matchAll(new RegExp(`${open}.*?(${close}|$)`, "gs"))];
    const isForeign = (at) => foreignAt.some(({ 0: text, index }) => at >= index && at < index + text.length);
    const range = document.createRange();
    let start = 0;
    let before;
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
}
