import type { EmbedOptions } from "./host/types.ts";
import { tellOnce } from "./host/warn.ts";
import { MAX_HEIGHT, MIN_HEIGHT, type Written } from "./protocol.ts";

/** Every option with its attribute; empty where the element has a property instead, or events. */
const OPTIONS: Readonly<Record<keyof EmbedOptions, string>> = {
  view: "view",
  theme: "theme",
  height: "height",
  marketId: "market",
  marketIds: "market",
  autoHeight: "auto-height",
  locale: "locale",
  loading: "loading",
  consent: "consent",
  signIn: "",
  brand: "",
  getToken: "",
  onEvent: "",
  onAction: "",
};
/** Attributes that the loader and most pages set. */
const USUAL = [...Object.values(OPTIONS), "class", "id", "style"];
const LOADINGS = ["lazy", "eager"];
/** How an option without a value is sent. */
const UNSTATED = ["undefined", "null"];

/**
 * Warns the page's author once of each word that the widget does not know. Most pages have no mistake, so the part that finds the
 * nearest words is loaded only then.
 */
export function checkWritten([names, tag, attributes, height, loading]: Written): void {
  const heightPx = Number(height.replace("px", ""));
  if (!UNSTATED.includes(height) && !(heightPx >= MIN_HEIGHT && heightPx <= MAX_HEIGHT))
    tellOnce("warn", `height must be ${MIN_HEIGHT} to ${MAX_HEIGHT} CSS pixels`, height);
  if (![...UNSTATED, ...LOADINGS].includes(loading)) tellOnce("warn", "loading must be one of", LOADINGS);
  const options = names.filter((name) => !Object.hasOwn(OPTIONS, name));
  const strange = tag === "prediction-market" ? attributes.filter((name) => !USUAL.includes(name)) : [];
  if (options.length + strange.length === 0) return;
  import("./nearest-words.ts").then(
    ({ adviceOn }) => {
      for (const [about, advice] of adviceOn(options, strange, OPTIONS)) tellOnce("warn", about, advice);
    },
    () => {},
  );
}
