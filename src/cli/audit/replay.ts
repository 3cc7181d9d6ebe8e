import type { Command } from "commander";
import type { RebuiltState } from "../../app/replay/rebuild-state.ts";
import type { TenantSession } from "../../app/tenant/session.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { USES_DATABASE } from "../errors.ts";
import { count, identifier } from "../input/parsers.ts";
import { price, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { brokenLog } from "./audit-verify.ts";

interface ReplayOptions {
  to?: number | undefined;
}

type Shown = { tenant: string } & RebuiltState;

export function register(noun: Command, host: Host): void {
  host.add<ReplayOptions>(
    noun
      .argument("[tenant]", "the tenant", identifier)
      .option("--to <seq>", "the audit entry to stop after (default: the last one)", count)
      .description(
        "rebuild balances, positions, markets and the house from the audit log alone, and compare the tables with it; exit code 8 when they differ",
      ),
    {
      names: "tenant to head hash ok users markets house differences",
      ends: { ...USES_DATABASE, 8: "the chain does not hold, or a table differs from it" },
      each: true,
    },
    ({ options, args: [tenant = options.tenant], io }) => {
      if (options.via === "http" || options.url !== undefined)
        throw new Fault(
          "USAGE",
          "replay compares the log with the tables at the database: leave out --url and --via http",
        );
      return withSession({ ...options, tenant, via: "db" }, io, (session) => runReplay(options, session, io));
    },
  );
}

/** The most rows of each kind that a terminal shows; data formats print all of them. */
const SHOWN = 20;

const view: View<Shown, Shown> = {
  kind: "record",
  fields: ({ to, head, hash, ok, users, markets, house, differences }) => [
    ["after entry", `${to} of ${head}`],
    ["hash", hash],
    ["agrees", ok ? "yes" : "NO"],
    ["treasury", usd(house.treasuryUsd)],
    ["fees", usd(house.feesUsd)],
    ["users", String(users.length)],
    ...some(users, ({ userId, balanceUsd, positions }) => [
      `  ${userId}`,
      positions.length === 0 ? usd(balanceUsd) : `${usd(balanceUsd)}, ${counted(positions.length, "position")}`,
    ]),
    ["markets", String(markets.length)],
    ...some(markets, ({ id, status, yesPrice, volume }) => [
      `  ${id}`,
      `${status}, Yes at ${price(yesPrice)}, ${usd(volume)} traded`,
    ]),
    ["differences", String(differences.length)],
    ...some(differences, ({ what, id, field, log, table }) => [
      `  ${what} ${id}`,
      `${field}: the log says ${log ?? "nothing"}, the table says ${table ?? "nothing"}`,
    ]),
  ],
};

function some<Row>(rows: readonly Row[], line: (row: Row) => [string, string]): [string, string][] {
  const shown = rows.slice(0, SHOWN).map(line);
  return rows.length > SHOWN ? [...shown, ["  …", `${rows.length - SHOWN} more with -o json`]] : shown;
}

/** @throws Fault INTEGRITY, after printing, when the chain or a table does not hold; CONFIG_INVALID for other keys */
export async function runReplay(
  { to }: ReplayOptions,
  { tenant, services }: Pick<TenantSession, "tenant" | "services">,
  { output }: Io,
): Promise<void> {
  if (!services) throw new Fault("USAGE", "replay needs the database");
  const { rebuildState } = await import("../../app/replay/rebuild-state.ts");
  const onProgress = (entries: number, of: number) =>
    output.progress(`${entries} of ${counted(of, "entry", "entries")} replayed`);
  const { state, broken } = await services.checks.snapshot((sql) =>
    rebuildState(sql, { to, keys: services.auditKeys, onProgress }),
  );
  if (broken?.sealedWith !== undefined) throw brokenLog(broken);
  await output.print({ tenant: tenant.id, ...state }, view);
  if (broken) throw brokenLog(broken);
  const { differences } = state;
  if (differences.length === 0) return;
  const tables = [...new Set(differences.map(({ what }) => what))].join(", ");
  throw new Fault(
    "INTEGRITY",
    `The tables differ from the audit log in ${counted(differences.length, "value")} (${tables})`,
  );
}
