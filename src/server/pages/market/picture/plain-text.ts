/** Longer questions end in an ellipsis long before. */
const MOST_CHARACTERS = 600;
/** What draws nothing, draws over its neighbours or turns them round; joiners stay, which some scripts need. */
const UNDRAWN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu;
/** No font of ours has pictures. */
const PICTURES = /\p{RGI_Emoji}|\p{Emoji_Modifier}|\ufe0f|\u20e3/gv;
/** More marks on one letter than any language writes would cover the lines around it. */
const PILED_MARKS = /(\p{M}{3})\p{M}+/gu;

/** An untrusted text as one line that can be drawn: without control characters, marks of direction and pictures. */
export function drawable(text: string): string {
  const cleaned = text
    .normalize()
    .replace(/\s+/gu, " ")
    .replace(PICTURES, "")
    .replace(UNDRAWN, "")
    .replace(PILED_MARKS, "$1");
  return [...cleaned.replace(/ {2,}/g, " ").trim()].slice(0, MOST_CHARACTERS).join("");
}

/** The direction of a text: that of its first letter that has one. */
export function directionOfText(text: string): "ltr" | "rtl" {
  const first = /\p{L}/u.exec(text)?.[0] ?? "";
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(
    first,
  )
    ? "rtl"
    : "ltr";
}
