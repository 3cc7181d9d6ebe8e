/**
 * Loaded before anything else: a browser may name a language that is none ("en-US@posix" on bare Linux machines), and
 * the chart library hands it to `Intl`, which throws, before a line of ours has run.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-US" });
}
