import type { Command } from "commander";
import type { FileKey } from "../../config/schema/schema-keys.ts";
import { Fault } from "../../domain/fault.ts";
import type { Host, Io } from "../command.ts";
import { identifier } from "../input/parsers.ts";
import type { View } from "../output/output.ts";
import { wrap } from "../output/text-width.ts";

/** A key or a name as it is printed; keys below it are printed without those below them. */
interface Explained extends Omit<FileKey, "keys"> {
  keys: Omit<FileKey, "keys">[];
}

const WIDTH = 80;

const view: View<Explained, Explained> = {
  kind: "text",
  text: ({ path, type, required, default: usual, examples, loosens, description, keys }) => {
    const isLong = (text: string) => text.length > WIDTH;
    const shown = examples.map((example) => JSON.stringify(example));
    const width = Math.max(0, ...keys.map((key) => key.path.length));
    const line = (name: string, text: string) => `${name.padEnd(10)}${text}`;
    return [
      line("name", path),
      line("type", `${type}${required ? ", required" : ""}`),
      ...(usual === undefined ? [] : [line("default", JSON.stringify(usual))]),
      ...shown.filter((text) => !isLong(text)).map((text) => line("example", text)),
      ...(loosens === undefined ? [] : [line("loosens", `${loosens}; it needs --accept-loosening`)]),
      ...description.split("\n\n").flatMap((paragraph) => ["", ...wrap(paragraph, WIDTH)]),
      ...(keys.length === 0 ? [] : [""]),
      ...keys.flatMap((key) => [
        `  ${key.path.padEnd(width)}  ${key.type}`,
        ...(key.description === "" ? [] : wrap(`      ${key.description}`, WIDTH)),
      ]),
      ...shown.filter(isLong).flatMap((text) => ["", JSON.stringify(JSON.parse(text), null, 2)]),
    ].join("\n");
  },
};

type Family = Pick<FileKey, "path" | "description">;

const familiesView: View<readonly Family[], Family> = {
  kind: "list",
  rows: (families) => families,
  columns: [
    { title: "NAMES IN", cell: ({ path }) => path, whole: true },
    { title: "WHAT THEY ARE", cell: ({ description }) => description, wraps: true },
  ],
  empty: "There are none.",
};

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .argument(
        "[name]",
        "such as tenant.policy.feeBps, error.KYC_REQUIRED, audit.market.settled, event.order.filled, metric.pmctl_trades_total; without one, all first words",
        identifier,
      )
      .description("explain a key of a file, an error code, an audit type, a webhook event or a metric"),
    { names: "path type description default examples required loosens keys", ends: { 5: "there is no such name" } },
    ({ args: [name], io }) => runExplain(name, io),
  );
}

/** @throws Fault NOT_FOUND naming the nearest name */
export async function runExplain(name: string | undefined, { output }: Io): Promise<void> {
  const [{ FILES, findKey, keysOf }, { FAMILY_NAMES, familyOf, findEntry }] = await Promise.all([
    import("../../config/schema/schema-keys.ts"),
    import("../../app/docs/reference.ts"),
  ]);
  if (name === undefined) {
    const families = [...Object.keys(FILES).map(keysOf), ...FAMILY_NAMES.map(familyOf)];
    const listed = families.map(({ path, description }) => ({ path, description }));
    return output.print(listed, familiesView);
  }
  const find = (): FileKey => {
    if (FAMILY_NAMES.includes(name.split(".")[0] ?? "")) return findEntry(name);
    try {
      return findKey(name);
    } catch (error) {
      if (error instanceof Fault) return findEntry(name, error);
      throw error;
    }
  };
  const { keys, ...own } = find();
  await output.print({ ...own, keys: keys.map(({ keys: _, ...key }) => key) }, view);
}
