import { FEES, walletOf } from "../../src/domain/accounts.ts";
import { auditLines, canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { auditHash } from "../../src/domain/audit/seal.ts";
import { decimalFromMicro } from "../../src/domain/money.ts";
import { type Command, execute, needsOf } from "../../src/engine/commands.ts";
import type { Draft, Reader } from "../../src/engine/draft.ts";
import { RowMap } from "../../src/engine/row-map.ts";
import { positionKey, type Table, type Tables, type Tenant } from "../../src/engine/rows.ts";
import { openJournal } from "../../src/ledger/journal.ts";
import { loadRows } from "../../src/ledger/load.ts";
import type { Connection } from "../../src/postgres/connect.ts";
import type { TenantServices } from "../../src/services/tenant/tenant.ts";

/**
 * Commits a purchase that costs more than it can pay, with everything that an older version wrote of one: transfers, trade,
 * position, exposure, volume and audit entry, so that the ledger and the chain hold.
 */
export async function insertDearTrade(
  services: TenantServices,
  connection: Connection,
  command: Command<"placeTrade"> & { feeMicro: bigint },
): Promise<void> {
  const { feeMicro, traderId, marketId, side } = command;
  const journal = openJournal(connection, { restricted: false, isSealed: services.isSealed });
  try {
    const { head, now: precise } = await journal.readHead();
    const now = Math.floor(precise);
    const ts = Math.max(now, head.ts);
    const state = await readState(services, command);
    const { draft } = execute(state, { ...command, amountMicro: command.amountMicro - feeMicro }, now, ts);
    addFee(draft, { feeMicro, traderId, key: positionKey(traderId, marketId, side), marketId });
    const seq = head.seq + 1n;
    const [event] = draft.audit;
    if (!event) throw new Error("A trade is on record");
    const entry = {
      seq,
      type: event.type,
      actor: `user:${traderId}`,
      payloadText: canonicalJson({
        ...event.payload,
        amount: decimalFromMicro(command.amountMicro),
        fee: decimalFromMicro(feeMicro),
      }),
      ts: new Date(ts).toISOString(),
      keyId: services.auditKey.id,
    };
    const hash = auditHash(services.auditKey, head.hash, auditLines(entry));
    const { swapped } = await journal.commit({
      expected: head,
      next: { ...head, seq, hash, ts },
      before: null,
      writes: [...draft.writes()],
      transfers: draft.transfers.map((transfer, leg) => ({ ...transfer, seq, leg })),
      trades: draft.trades.map((trade) => ({ ...trade, amountMicro: command.amountMicro, feeMicro, seq })),
      audit: [{ ...entry, hash }],
    });
    if (!swapped) throw new Error("The head moved meanwhile");
  } finally {
    await journal.close();
  }
}

/** The rows that the trade reads, under a policy without a fee. */
async function readState({ pool, isSealed }: TenantServices, command: Command<"placeTrade">): Promise<Reader> {
  const rows = new RowMap<Tables[Table] | null>();
  for (const { table, key, row } of await pool.read((sql) => loadRows(sql, needsOf(command), isSealed)))
    rows.set(table, key, row);
  return {
    get: <T extends Table>(table: T, key: string) => {
      const row = (rows.get(table, key) ?? undefined) as Tables[T] | undefined;
      if (table !== "tenant" || !row) return row;
      const tenant = row as Tenant;
      return { ...tenant, policy: { ...tenant.policy, feeBps: 0 } } as Tables[T];
    },
  };
}

function addFee(
  draft: Draft,
  { feeMicro, traderId, marketId, key }: { feeMicro: bigint; traderId: string; marketId: string; key: string },
): void {
  draft.transfer(walletOf(traderId), FEES, feeMicro);
  const [position, portfolio, marketState] = [
    draft.get("position", key),
    draft.get("portfolio", traderId),
    draft.get("marketState", marketId),
  ];
  if (!position || !portfolio || !marketState) throw new Error("A trade leaves all of these");
  draft.put("position", key, {
    ...position,
    costMicro: position.costMicro + feeMicro,
    dayVolumeMicro: position.dayVolumeMicro + feeMicro,
  });
  draft.put("portfolio", traderId, { exposureMicro: portfolio.exposureMicro + feeMicro });
  draft.put("marketState", marketId, {
    ...marketState,
    volumeMicro: marketState.volumeMicro + feeMicro,
    hourVolumeMicro: marketState.hourVolumeMicro + feeMicro,
    hourFeeMicro: marketState.hourFeeMicro + feeMicro,
  });
}
