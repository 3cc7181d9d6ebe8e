import type { Command } from "commander";
import type { FileKey } from "../../config/schema/schema-keys.ts";
import type { CommandContext, Host } from "../command.ts";
import { identifier } from "../input/parsers.ts";
import type { View } from "../output/output.ts";
import { wrap } from "../output/text-width.ts";

/** A key as it is printed; the keys below it are printed without those below them. */
interface Explained extends Omit<FileKey, "keys"> {
  keys: Omit<FileKey, "keys">[];
}

const WIDTH = 80;

const view: View<Explained, Explained> = {
  kind: "text",
  text: ({ path, type, required, default: usual, examples, loosens, description, keys }) => {
    const width = Math.max(0, ...keys.map((key) => key.path.length));
    const line = (name: string, text: string) => `${name.padEnd(10)}${text}`;
    return [
      line("key", path),
      line("type", `${type}${required ? ", required" : ""}`),
      ...(usual === undefined ? [] : [line("default", JSON.stringify(usual))]),
      ...examples.map((example) => line("example", JSON.stringify(example))),
      ...(loosens === undefined ? [] : [line("loosens", `${loosens}; it needs --accept-loosening`)]),
      "",
      ...wrap(description, WIDTH),
      ...(keys.length === 0 ? [] : ["", "keys"]),
      ...keys.map((key) => `  ${key.path.padEnd(width)}  ${key.type}`),
    ].join("\n");
  },
};

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .argument(
        "[key]",
        "a dotted path that begins with tenant, market, case, fleet or pmctl, such as tenant.policy.feeBps (default: tenant)",
        identifier,
      )
      .description("explain a key of a file: type, default, example, and which change of it loosens a limit"),
    { names: "path type description default examples required loosens keys", ends: { 5: "there is no such key" } },
    runExplain,
  );
}

/** @throws Fault NOT_FOUND naming the nearest key */
async function runExplain({ args: [path = "tenant"], io }: CommandContext<object>): Promise<void> {
  const { findKey } = await import("../../config/schema/schema-keys.ts");
  const { keys, ...own } = findKey(path);
  await io.output.print({ ...own, keys: keys.map(({ keys: _, ...key }) => key) }, view);
}
