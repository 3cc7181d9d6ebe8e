import { tellOnce } from "./host/warn.ts";
import { MAX_HEIGHT, MIN_HEIGHT, type Written } from "./protocol.ts";

/** Every option. */
const OPTIONS =
  /^(view|theme|height|marketIds?|autoHeight|locale|loading|consent|signIn|brand|getToken|onEvent|onAction)$/;
/** The element's attributes, and those that the loader and most pages set. */
const USUAL = /^(view|theme|height|market|auto-height|locale|loading|consent|class|id|style)$/;
/** How an option without a value is sent. */
const UNSTATED = ["undefined", "null"];

/**
 * Finds what the page's author mistook. Most pages have no mistake, so the part that has words for it, and finds the nearest known
 * names, is loaded only then.
 */
export function checkWritten([names, tag, attributes, height, loading]: Written): void {
  const heightPx = Number(height.replace("px", ""));
  const wrong: [name: string, given: string][] = [];
  if (!UNSTATED.includes(height) && !(heightPx >= MIN_HEIGHT && heightPx <= MAX_HEIGHT)) wrong.push(["height", height]);
  if (![...UNSTATED, "lazy", "eager"].includes(loading)) wrong.push(["loading", loading]);
  const options = names.filter((name) => !OPTIONS.test(name));
  const strange = tag === "prediction-market" ? attributes.filter((name) => !USUAL.test(name)) : [];
  if (wrong.length + options.length + strange.length === 0) return;
  import("./written-advice.ts").then(
    ({ adviceOn }) => {
      for (const [about, advice] of adviceOn(wrong, options, strange)) tellOnce("warn", about, advice);
    },
    () => {},
  );
}
