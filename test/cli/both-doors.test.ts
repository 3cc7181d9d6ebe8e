import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTwoDoors, type Side, type TwoDoors } from "./support/two-doors.ts";

/** What a step may refer to: the latest identifiers of its side. */
interface Story {
  market: string;
  withdrawal: string;
  /** Of the newest audit entry. */
  seq: number;
}

interface Step {
  name: string;
  line: (story: Story) => string[];
  code?: number;
  /** The audit entry that it leaves; none when it changes nothing. */
  entry?: string;
}

const CREATE = [
  ...[
    "market",
    "create",
    "--key",
    "rain",
    "--question",
    "Will it rain?",
    "--category",
    "weather",
    "--kind",
    "lmsr",
    "--p0",
    "0.4",
  ],
  ...["--close-at", "2096-01-01T00:00:00Z", "--resolution-ref", "the press", "--liquidity", "500"],
];
const HEDGE = JSON.stringify({ symbol: "BTCUSD", direction: "long", notional: 100, externalRef: "pos-7" });
const read = (...words: string[]): Step => ({ name: words.join(" "), line: () => words });
const onMarket = (verb: string, ...rest: string[]): Step => ({
  name: ["market", verb, ...rest].join(" "),
  line: ({ market }) => ["market", verb, market, ...rest],
});
const trade = (verb: string, user: string, ...rest: string[]): Step => ({
  name: ["trade", verb, user, ...rest].join(" "),
  line: ({ market }) => ["trade", verb, "--market", market, "--side", "yes", "--user", user, ...rest],
});
const changes = (step: Step, entry: string): Step => ({ ...step, entry });
const refused = (step: Step, code: number): Step => ({ ...step, name: `${step.name} ends with ${code}`, code });

/** Every command of a tenant's daily life, in an order in which each has something to say. */
const STEPS: Step[] = [
  changes({ name: "market create", line: () => CREATE }, "market.created"),
  changes(
    read("funding", "credit", "--user", "ann", "--amount", "200", "--yes", "--reason", "opening", "--new-user"),
    "wallet.credited",
  ),
  refused(read("funding", "credit", "--user", "anna", "--amount", "1", "--yes", "--reason", "opening"), 5),
  refused(read("funding", "debit", "--user", "anna", "--amount", "1", "--yes", "--reason", "opening"), 5),
  refused(read("user", "restrict", "anna"), 6),
  refused(read("trade", "buy", "--market", "x", "--side", "yes", "--user", "ann", "--shares", "1"), 6),
  refused(read("trade", "sell", "--market", "x", "--side", "yes", "--user", "ann", "--amount", "1"), 6),
  refused(read("funding", "credit", "--user", "ann", "--amount", "1", "--yes"), 6),
  refused(read("funding", "credit", "--user", "ann", "--amount", "1", "--reason", "opening"), 6),
  trade("quote", "ann", "--amount", "20"),
  changes(trade("buy", "ann", "--amount", "20", "--reason", "by phone"), "trade.executed"),
  changes(trade("sell", "ann", "--shares", "3"), "trade.executed"),
  refused(trade("place", "ann", "--amount", "1", "--min-shares", "50"), 7),
  refused(trade("place", "ann", "--amount", "400"), 7),
  read("position", "list", "--user", "ann"),
  changes(trade("place", "ann", "--amount", "1", "--hedge-ref", HEDGE), "trade.executed"),
  refused(trade("place", "ann", "--amount", "1", "--hedge-ref", '{"symbol": "BTC"}'), 6),
  read("user", "list", "--q", "AN", "--min-exposure", "10"),
  read("user", "list", "-o", "table"),
  refused(read("user", "list", "--state", "asleep"), 6),
  read("user", "orders", "ann"),
  read("user", "orders", "ann", "--market", "@last", "--limit", "2", "-o", "csv"),
  read("user", "statement", "ann", "--limit", "2"),
  read("user", "statement", "ann", "-o", "table"),
  ...["json", "table"].map((format) => read("user", "portfolio", "ann", "-o", format)),
  read("user", "eligibility", "ann", "--market", "@last"),
  read("user", "eligibility", "ann", "-o", "table"),
  refused(read("user", "eligibility", "anna"), 5),
  refused(read("user", "eligibility", "ann", "--market", "mkt_none"), 5),
  changes(read("funding", "request", "--user", "ann", "--amount", "5"), "withdrawal.requested"),
  refused(read("funding", "request", "--user", "ann", "--amount", "5000"), 7),
  ...["json", "table"].map((format) => read("market", "list", "-o", format)),
  read("market", "list", "--q", "rain", "--fields", "question,yesPrice", "-o", "csv"),
  ...["show", "history", "depth"].map((verb) => onMarket(verb)),
  onMarket("show", "-o", "table"),
  read("market", "trending"),
  refused(read("market", "show", "mkt_nowhere"), 5),
  changes(onMarket("suspend", "--reason", "a rumour"), "market.suspended"),
  refused(trade("place", "ann", "--amount", "1"), 7),
  changes(onMarket("resume"), "market.resumed"),
  changes(onMarket("clarify", "--text", "Drizzle counts."), "market.clarified"),
  refused(onMarket("clarify", "--text", " "), 6),
  onMarket("show", "-o", "table"),
  read("policy", "show"),
  changes(read("policy", "set", "maxTradeUsd=450", "--yes", "--reason", "calmer"), "policy.updated"),
  refused(read("policy", "set", "feeBps=1", "--yes", "--expect-version", "0"), 7),
  changes(read("policy", "set", "maxTradeUsd=440", "--yes", "--expect-version", "2"), "policy.updated"),
  refused(read("policy", "set", "maxTradeUsd=500", "--yes", "--accept-loosening"), 6),
  refused(read("policy", "set", "maxTradeUsd=500", "--yes", "--reason", "busier"), 3),
  read("suitability", "show", "--user", "ann"),
  changes(read("suitability", "submit", "--user", "ann", "--answers", '{"q1":4,"q2":4}'), "suitability.submitted"),
  refused(read("suitability", "submit", "--user", "ann", "--answers", '{"q1":9}'), 6),
  changes(read("user", "restrict", "ann", "--reason", "chargeback"), "user.restricted"),
  refused(trade("place", "ann", "--amount", "1"), 4),
  read("user", "show", "ann"),
  changes(read("user", "release", "ann"), "user.restricted"),
  refused(read("user", "show", "nobody"), 5),
  changes(
    read("user", "revoke", "ann", "--before", "2026-01-31T00:00:00Z", "--reason", "lost phone"),
    "session.revoked",
  ),
  read("user", "revoke", "ann", "--before", "2026-01-30T00:00:00Z"),
  refused(read("user", "revoke", "ann", "--before", "2096-01-01T00:00:00Z"), 6),
  read("user", "show", "ann"),
  read("freeze"),
  changes(read("freeze", "--until", "2d", "--reason", "the weekend"), "config.frozen"),
  changes(read("freeze", "--off", "--reason", "monday"), "config.unfrozen"),
  read("freeze", "--off", "-o", "table"),
  read("audit", "security", "--event", "auth.failed", "--since", "24h"),
  refused(read("audit", "security", "--event", "nothing"), 6),
  { name: "funding list", line: () => ["funding", "list", "--status", "pending"] },
  changes(
    {
      name: "funding approve",
      line: ({ withdrawal }) => ["funding", "approve", withdrawal, "--yes", "--reason", "checked"],
    },
    "withdrawal.approved",
  ),
  refused(
    {
      name: "funding reject",
      line: ({ withdrawal }) => ["funding", "reject", withdrawal, "--yes", "--reason", "late"],
    },
    7,
  ),
  ...["approve", "reject"].flatMap((verb) => [
    refused(read("funding", verb, "wd_1", "--yes"), 6),
    refused(read("funding", verb, "wd_1", "--reason", "checked"), 6),
  ]),
  ...["overview", "house", "traders", "funding"].map((report) => read("report", report, "--days", "7")),
  ...["house", "traders"].map((report) => read("report", report, "-o", "table")),
  refused(read("report", "overview", "--days", "9999"), 6),
  read("risk"),
  read("risk", "--status", "all"),
  read("market", "list", "--status", "open,settled"),
  read("market", "search", "rain", "doors", "--status", "all"),
  read("market", "search", "rain", "-o", "tsv", "--fields", "id,question"),
  read("market", "show", "@last"),
  // A repeat under an idempotency key means the same words, not the same instant.
  changes(
    {
      name: "market create --close-at 9000d",
      line: () => [...CREATE, "--key", "later", "--question", "Later?", "--close-at", "9000d"],
    },
    "market.created",
  ),
  read("hedge"),
  ...["json", "table"].map((format) => read("market", "void", "later", "--preview", "-o", format)),
  refused(read("market", "void", "later", "--yes"), 6),
  refused(read("market", "void", "later", "--reason", "test"), 6),
  refused(read("market", "void", "later", "--yes", "--expect-payouts", "1", "--reason", "test"), 7),
  refused(read("market", "settle", "later", "--outcome", "void", "--yes", "--reason", "test"), 6),
  read("market", "settle", "later", "--outcome", "yes=0.4", "--preview", "-o", "table"),
  changes(
    read("market", "void", "later", "--yes", "--expect-total", "0", "--max-treasury", "5", "--reason", "test"),
    "market.voided",
  ),
  refused(read("market", "void", "later", "--yes", "--reason", "test"), 7),
  refused(read("market", "correct", "later", "--outcome", "yes", "--preview"), 7),
  refused(read("market", "correct", "later", "--outcome", "yes", "--yes"), 6),
  refused(read("market", "correct", "later", "--outcome", "yes=0.4", "--yes", "--reason", "test"), 7),
  refused(read("market", "correct", "later", "--outcome", "maybe", "--preview"), 6),
  ...["json", "table"].map((format) => read("market", "show", "later", "-o", format)),
  onMarket("settle", "--outcome", "yes", "--preview"),
  refused(onMarket("settle", "--outcome", "yes"), 6),
  refused(onMarket("settle", "--outcome", "yes", "--yes", "--early"), 6),
  refused(onMarket("settle", "--outcome", "yes", "--yes", "--reason", "test"), 7),
  refused(onMarket("settle", "--outcome", "yes", "--yes", "--early", "--reason", "test", "--expect-payouts", "7"), 7),
  changes(
    onMarket("settle", "--outcome", "yes", "--yes", "--early", "--reason", "test", "--expect-payouts", "1"),
    "market.settled",
  ),
  refused(onMarket("settle", "--outcome", "no", "--yes", "--reason", "test"), 7),
  changes(read("reconcile"), "reconcile.run"),
  read("audit", "list", "--limit", "5"),
  read("audit", "list", "--type", "market.settled", "--fields", "seq,type,payload", "-o", "table"),
  read("audit", "list", "--since", "2h", "--until", "2096-01-01T00:00:00Z", "--user", "ann", "--grep", "RAIN"),
  refused(read("audit", "list", "--type", "nosuch"), 6),
  read("audit", "show", "2"),
  refused(read("audit", "show", "99999"), 5),
  ...["json", "markdown"].map((format) => read("plan", "--replay", "30d", "--on-drift", "adopt", "-o", format)),
  ...["json", "table"].map((format) => read("replay", "-o", format)),
  read("replay", "--to", "9", "--fields", "to,ok,house,differences"),
  refused(read("replay", "--to", "99999"), 5),
  read("audit", "status"),
  read("audit", "verify"),
];

describe("over the database and over HTTP", () => {
  let doors: TwoDoors;
  const stories = new Map<Side, Story>();
  beforeAll(async () => {
    doors = await openTwoDoors();
  });
  afterAll(() => doors?.close());

  async function take(side: Side, { line, name, entry: changesAs }: Step) {
    const story = stories.get(side) ?? { market: "", withdrawal: "", seq: 0 };
    stories.set(side, story);
    if (name === "funding list") story.withdrawal = await side.withdraw("ann", 15);
    const before = name === "market create" || name === "funding list" ? await side.newestSeq() : story.seq;
    const words = changesAs === undefined ? line(story) : [...line(story), "--idempotency-key", name];
    const outcome = await side.run(...words);
    const seq = await side.newestSeq();
    // Said again, a change is not made again, and its first result is printed.
    if (changesAs !== undefined && outcome.code === 0) {
      const { code, stdout } = await side.run(...words);
      expect({ code, stdout, seq: await side.newestSeq() }).toEqual({ code: 0, stdout: outcome.stdout, seq });
    }
    story.seq = seq;
    const text = seq === before ? undefined : await newest(side);
    if (name === "market create" && text !== undefined) story.market = JSON.parse(text).payload.marketId;
    const entry = text === undefined ? undefined : JSON.parse(side.alike(text));
    return { ...outcome, stdout: settled(outcome.stdout), entry };
  }

  const newest = async (side: Side) => (await side.raw("audit", "list", "--limit", "1", "-o", "ndjson")).stdout;

  test.each(STEPS.map((step) => [step.name, step] as const))(
    "%s: one output, one entry, one exit code",
    async (_, step) => {
      const [db, http] = [await take(doors.db, step), await take(doors.http, step)];
      expect(http).toEqual(db);
      const { code = 0, entry, line } = step;
      expect({ code: db.code, why: db.code === code ? "" : db.stderr }).toEqual({ code, why: "" });
      expect(db.entry?.type).toBe(entry);
      if (code !== 0) expect(db.stdout).toBe("");
      const [flag, reason] = line({ market: "", withdrawal: "", seq: 0 }).slice(-2);
      if (entry && flag === "--reason") expect(db.entry.payload.reason).toBe(reason);
    },
  );

  const credit = (key: string, amount: number, ...rest: string[]) => [
    ...["funding", "credit", "--user", "kim", "--amount", String(amount), "--reason", "opening", "--new-user", "--yes"],
    ...["--idempotency-key", key, ...rest],
  ];

  test("one door knows the changes of the other by their idempotency keys, and refuses another request with 7", async () => {
    const side = doors.http;
    const policy = ["policy", "set", "maxTradeUsd=440", "--yes", "--ttl", "2h", "--idempotency-key", "calm"];
    for (const line of [credit("opening", 7), policy]) {
      const first = await side.raw(...line);
      expect(first.code).toBe(0);
      const seq = await side.newestSeq();
      for (const via of ["db", "http"])
        expect(await side.raw(...line, "--via", via)).toMatchObject({ code: 0, stdout: first.stdout });
      expect(await side.newestSeq()).toBe(seq);
    }
    const withdrawal = (amount: string) => [
      ...["funding", "request", "--user", "kim", "--amount", amount, "--yes", "--idempotency-key", "out"],
    ];
    expect((await side.raw(...withdrawal("1"))).code).toBe(0);
    const others = [
      credit("opening", 8),
      withdrawal("2"),
      [...policy.slice(0, 5), "3h", ...policy.slice(6)],
      ["user", "restrict", "kim", "--idempotency-key", "calm"],
    ];
    for (const line of others)
      for (const via of ["db", "http"])
        expect(await side.raw(...line, "--via", via)).toMatchObject({
          code: 7,
          stderr: expect.stringContaining("used with another request"),
        });
  });

  test("a repeat of key create shows the same key without its value, because no value is stored", async () => {
    for (const side of [doors.db, doors.http]) {
      const line = ["key", "create", "night", "--type", "public", "--idempotency-key", "night"];
      const [first, again] = [await side.raw(...line), await side.raw(...line)];
      expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining("pmctl key rotate night") });
      expect(JSON.parse(again.stdout)).toEqual({ ...JSON.parse(first.stdout), key: null });
    }
  });

  test("a repeat of apply gets the first result after live changes too, and other files under its key end with 7", async () => {
    for (const side of [doors.db, doors.http]) {
      const line = [
        "apply",
        side.tenant,
        "--yes",
        "--on-drift",
        "overwrite",
        "--accept-loosening",
        "--idempotency-key",
        "release",
      ];
      await side.edit((text) =>
        text.replace(/^policy:\n/m, "policy:\n  feeBps: 70\n").replace(/\n {2}feeBps: (?!70)\d+/, ""),
      );
      const [first] = JSON.parse((await side.raw(...line)).stdout);
      expect(first).toMatchObject({ changed: true, seq: await side.newestSeq() });
      // What `changes` held is in the entry.
      const again = { code: 0, stdout: expect.stringContaining(first.hash) };
      const repeated = await side.raw(...line);
      expect(repeated).toMatchObject(again);
      expect(JSON.parse(repeated.stdout)).toEqual([{ ...first, changes: [] }]);
      await side.raw("policy", "set", "feeBps=65", "--yes");
      for (const via of side === doors.db ? ["db"] : ["db", "http"])
        expect((await side.raw(...line, "--via", via)).stdout).toBe(repeated.stdout);
      const back = [
        "rollback",
        side.tenant,
        "--to",
        String(first.seq),
        "--on-drift",
        "overwrite",
        "--accept-loosening",
      ];
      const keyed = [...back, "--yes", "--idempotency-key", "back"];
      const [rolledBack] = JSON.parse((await side.raw(...keyed)).stdout);
      expect(rolledBack).toMatchObject({ changed: true, seq: await side.newestSeq() });
      await side.raw("policy", "set", "feeBps=66", "--yes");
      expect(JSON.parse((await side.raw(...keyed)).stdout)).toMatchObject([
        { ...rolledBack, changes: [], left: ["policy.feeBps", ...rolledBack.left] },
      ]);
      expect(await side.raw(...keyed, "--accept-rule", "other")).toMatchObject({ code: 7 });
      await side.edit((text) => text.replace("feeBps: 70", "feeBps: 60"));
      expect(await side.raw(...line)).toMatchObject({ code: 7, stdout: "" });
    }
  });

  test("auto goes over HTTP where a server runs and to the database where none does, and the actor says which", async () => {
    const actor = async (side: Side) =>
      JSON.parse((await side.raw("audit", "list", "--type", "reconcile.run", "--limit", "1")).stdout).entries[0].actor;
    expect(await actor(doors.http)).toMatch(/^admin:/);
    expect(await actor(doors.db)).toMatch(/^cli:/);
  });
});

/** A full hour may begin between the two sides: a point that repeats the one before is no difference. */
function settled(text: string): string {
  return text.replace(/(\{[^{}]*"t": "TIME"[^{}]*\})(,\s*\1)+/g, "$1");
}
