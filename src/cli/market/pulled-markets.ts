import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, parse } from "node:path";
import { stringify } from "yaml";
import { readUnsettled } from "../../app/apply/plan-tenant.ts";
import type { ConfigSession } from "../../app/tenant/config-session.ts";
import { headlineOf } from "../../config/config-error.ts";
import { feedsThatSettle } from "../../config/tenant-file.ts";
import { checkMarketFile } from "../../config/tenant-files/market-files.ts";
import { isMarketFile } from "../../config/tenant-files/market-walk.ts";
import { Fault } from "../../domain/fault.ts";
import { type PulledMarket, pulledMarkets } from "../../plan/plan-markets.ts";
import type { Io } from "../command.ts";
import { plain } from "../output/cells.ts";
import type { View } from "../output/output.ts";

/** A market, and the file to write for it. */
type Row = { file: string } & PulledMarket;

const view: View<readonly Row[], Row> = {
  kind: "list",
  rows: (rows) => rows,
  columns: [
    { title: "FILE", cell: ({ file }) => file, whole: true },
    { title: "MARKET", cell: (row) => row.import },
    { title: "QUESTION", cell: ({ question }) => plain(question) },
  ],
  empty: "Every unsettled market has a file.",
};

/**
 * Prints the unsettled markets that no file states, in the form of files, and with `--write` writes these files.
 * @throws Fault REFUSED or CONFIG_INVALID when a file cannot be written; then none is
 */
export async function pullMarkets(
  session: ConfigSession,
  { write = false }: { write?: boolean | undefined },
  { output }: Pick<Io, "output">,
): Promise<void> {
  const files = (await marketsWithoutFile(session)).map((market) => ({ ...market, text: textOf(market) }));
  const wrong = files.map(({ file, text }) => {
    const { problems } = checkMarketFile(text, file, new Map(), feedsThatSettle(session.config));
    return problems.map(headlineOf);
  });
  for (const lines of wrong)
    for (const line of lines) output.note(`Left out, because a file cannot state this: ${line}`);
  const sound = files.filter((_, index) => wrong[index]?.length === 0);
  await output.print(
    sound.map(({ text: _, ...row }) => row),
    view,
  );
  if (write) writeFiles(sound, session, output);
}

async function marketsWithoutFile(session: ConfigSession): Promise<Row[]> {
  const live = await session.open();
  if (!live) return [];
  const unsettled = await readUnsettled(live.api);
  const folder = join(dirname(session.config.source.file), "markets");
  const names = existsSync(folder) ? readdirSync(folder).map((name) => parse(name.toLowerCase()).name) : [];
  const markets = pulledMarkets(unsettled, session.markets, live.config, names);
  return markets.map((market) => ({ file: join(folder, `${market.key}.yaml`), ...market }));
}

/** Quotes values that YAML 1.1 would read as a number, a date or a boolean, because other tools still use it. */
function textOf({ file: _, meta, state, ...market }: Row): string {
  const stated = {
    ...market,
    ...(Object.keys(meta).length > 0 && { meta }),
    ...(state === "suspended" && { state }),
  };
  return stringify(stated, { version: "1.2", compat: "yaml-1.1", lineWidth: 0 });
}

function writeFiles(
  files: readonly { file: string; key: string; text: string }[],
  { config }: ConfigSession,
  output: Io["output"],
): void {
  const unread = files.find(({ key }) => !isMarketFile(`markets/${key}.yaml`, config.markets.files));
  if (unread)
    throw new Fault(
      "CONFIG_INVALID",
      `${config.source.file} does not read ${unread.file}: add markets/*.yaml to markets.files. Nothing was written`,
    );
  const there = files.filter(({ file }) => existsSync(file)).map(({ file }) => file);
  if (there.length > 0) throw new Fault("REFUSED", `Nothing was written: there are files already: ${there.join(", ")}`);
  for (const { file, text } of files) {
    mkdirSync(dirname(file), { recursive: true });
    // Never replaces a file that appeared meanwhile.
    writeFileSync(file, text, { flag: "wx" });
    output.note(`${file} was written`);
  }
}
