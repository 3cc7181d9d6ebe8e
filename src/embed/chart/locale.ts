/**
 * Loaded first: a browser may state an invalid language ("en-US@posix" on bare Linux machines), which the chart library
 * passes to `Intl` as soon as it is loaded, and `Intl` throws.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-US" });
}
