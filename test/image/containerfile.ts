import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Instruction {
  /** In capitals. */
  name: string;
  text: string;
}

export interface Stage {
  /** The image that it begins with. */
  base: string;
  instructions: readonly Instruction[];
}

/** The stages of the Containerfile; lines that end with a backslash go on in the next. */
export function readStages(): Stage[] {
  const stages: { base: string; instructions: Instruction[] }[] = [];
  const lines = readFileSync(`${ROOT}Containerfile`, "utf8").replaceAll("\\\n", " ").split("\n");
  for (const line of lines.filter((each) => each.trim() !== "" && !each.startsWith("#"))) {
    const [, name = "", text = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === "FROM") stages.push({ base: text.split(" ")[0] ?? "", instructions: [] });
    else stages.at(-1)?.instructions.push({ name, text });
  }
  return stages;
}

/** What may be copied from the checkout, by `.dockerignore`, which excludes all else. */
export function contextNames(): string[] {
  const lines = readFileSync(`${ROOT}.dockerignore`, "utf8").split("\n");
  return lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
}
