/** A tenant file as `init` writes it, with another limit of requests a minute for each address and each key. */
export function withRateLimit(text: string, perMinute: number): string {
  return `${text.replace(/^rateLimit:\n(?: {2}.*\n)+/m, "")}\nrateLimit: { perMinute: ${perMinute} }\n`;
}
