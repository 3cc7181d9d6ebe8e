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

const told = new Set<string>();

/** Tells the page's author each thing once. @param level `info` for what may be meant so */
export function tellOnce(level: "info" | "warn", about: string, what: unknown): void {
  const line = `prediction-markets: ${about}:`;
  if (!told.has(`${line} ${what}`)) console[level](line, what);
  told.add(`${line} ${what}`);
}
