import type { ServedTenant } from "../../server/support/tenant.ts";

const HOUR_MS = 3_600_000;
const QUESTIONS: [question: string, category: string][] = [
  ["Will Bitcoin trade above $200,000 at the start of 2030?", "crypto"],
  ["Will an ounce of gold cost more than $5,000 at the end of 2030?", "metals"],
  ["Will people walk on the Moon again before 2031?", "space"],
  ["Will one euro cost less than one US dollar at the end of June 2030?", "fx"],
  ["Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft?", "words"],
];
const TRADES = [
  ["mkt_0", "yes", 50],
  ["mkt_0", "no", 20],
  ["mkt_1", "no", 60],
  ["mkt_2", "yes", 90],
  ["mkt_0", "yes", 30],
] as const;

/** Markets with a past, and a user with 800 dollars who holds some of them and won one. */
export async function fillTenant(tenant: ServedTenant, userId: string): Promise<void> {
  const { sequencer } = tenant.services;
  await tenant.deposit(userId, 800);
  const closeAt = Date.now() + 40 * 24 * HOUR_MS;
  for (const [index, [question, category]] of QUESTIONS.entries())
    await tenant.openMarket(`mkt_${index}`, { question, category, closeAt, kind: index % 2 ? "lmsr" : "cpmm" });
  for (const [index, [marketId, side, dollars]] of TRADES.entries()) {
    const terms = { marketId, traderId: userId, side, amountMicro: BigInt(dollars) * 1_000_000n };
    await sequencer.submit({
      command: { type: "placeTrade", id: `trd_${index}`, ...terms, claimedJurisdiction: undefined },
      actor: `user:${userId}`,
    });
  }
  await sequencer.submit({
    command: { type: "settleMarket", marketId: "mkt_2", outcome: "yes" },
    actor: "admin:ops",
  });
  await giveAPast(tenant, 30 * 24);
}

/** Prices of these many hours before now, as if the markets had been traded all that time. */
export async function giveAPast({ backend: { sql } }: ServedTenant, hours: number, only?: string): Promise<void> {
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  await sql`update market set created_at = created_at - ${hours * HOUR_MS}::bigint`;
  for (const { id } of await sql<{ id: string }[]>`select id from market`) {
    if (only !== undefined && id !== only) continue;
    const seed = Number(/\d+/.exec(id)?.[0] ?? 0);
    const rows = Array.from({ length: hours }, (_, index) => {
      const wave = Math.sin(index / 17 + seed) * 0.09 + Math.sin(index / 5 + seed * 3) * 0.025;
      const nearer = 1 - index / hours;
      return { hour: now - (hours - index) * HOUR_MS, ppm: Math.round((0.52 + wave * nearer - 0.12 * nearer) * 1e6) };
    });
    await sql`
      insert into market_hour (market_id, hour, volume_micro, fee_micro, yes_price_ppm)
      select ${id}, hour::bigint, 1000000, 0, ppm::integer
        from jsonb_to_recordset(${sql.json(rows)}) as past (hour text, ppm text)
          on conflict do nothing`;
  }
}
