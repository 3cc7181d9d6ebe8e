import { shellWord } from "../domain/text.ts";

/** Such as `pmctl market settle mkt_1 --outcome yes --reason 'The official result' -t acme`, ready to be pasted. */
export function pmctl(tenant: string, ...words: readonly (string | number)[]): string {
  return ["pmctl", ...words, "-t", tenant].map((word) => shellWord(String(word))).join(" ");
}

/** A line about one thing whose id a stranger chose: after `--`, an id such as `--url=…` is no option. */
export function pmctlAbout(tenant: string, id: string, ...words: readonly string[]): string {
  return id.startsWith("-")
    ? `${pmctl(tenant, ...words)} -- ${shellWord(id)}`
    : pmctl(tenant, ...words.slice(0, 2), id, ...words.slice(2));
}

/** An option with its value; nothing without one. */
export function option(name: string, value: string | number | undefined): string[] {
  return value === undefined || value === "" ? [] : [`--${name}`, String(value)];
}
