/** Tells the page's author in the console; nothing is thrown at the page. */
export function warn(about: string, problem: unknown): void {
  console.warn(`prediction-markets: ${about}:`, problem);
}

/** @returns the result of the work; undefined where it throws, after a warning for the page's author */
export function attempt<Value>(about: string, work: () => Value): Value | undefined {
  try {
    return work();
  } catch (error) {
    warn(about, error);
    return undefined;
  }
}
