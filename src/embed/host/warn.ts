/** What a page's author should know goes to the console; nothing is thrown at the page. */
export function warn(about: string, problem: unknown): void {
  console.warn(`prediction-markets: ${about}:`, problem);
}
