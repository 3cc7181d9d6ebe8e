/** What a page's author should know goes to the console; nothing is thrown at the page. */
export function warn(about: string, problem: unknown): void {
  console.warn(`prediction-markets: ${about}:`, problem);
}

/** @returns what the work does; undefined where it throws: then the page's author sees a warning */
export function attempt<Value>(about: string, work: () => Value): Value | undefined {
  try {
    return work();
  } catch (error) {
    warn(about, error);
    return undefined;
  }
}
