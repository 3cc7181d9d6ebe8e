import { createHmac } from "node:crypto";
import type { AuditEntry } from "../../../src/domain/audit/audit-link.ts";
import type { Command } from "../../../src/engine/commands.ts";
import type { TradeResult } from "../../../src/engine/trade.ts";
import { type Claim, holds, type Keys } from "./claims.ts";
import { Disagreement, NaiveLedger } from "./naive-ledger.ts";
import { type Attempt, type Outcome, type Run, SECRET } from "./simulation.ts";
import { isPoison, type Task } from "./tasks.ts";

function must(condition: boolean, what: string): void {
  if (!condition) throw new Disagreement(what);
}

/** Nothing was executed, and never will be. */
const REFUSED_BY_US = new Set(["OVERLOADED", "DATABASE_UNAVAILABLE", "INTERNAL"]);

/**
 * Judges a finished run: the journal against a naive ledger that replays it, the answers against the journal.
 * @throws Disagreement naming the first thing that is wrong
 */
export function judge(run: Run): void {
  must(run.hanging.length === 0, `left hanging: ${run.hanging.join(", ")}`);
  if (run.calm) for (const attempt of run.attempts) checkCalm(attempt);
  if (run.databaseHolds) for (const attempt of run.attempts) checkKnown(attempt);
  checkChain(run);
  const entries = entriesByTask(run);
  const ledger = checkJournal(run);
  checkRows(run, ledger);
  checkDeliveries(run);
  for (const attempt of run.attempts) checkAttempt(run, attempt, entries.get(attempt.task.actor) ?? []);
  checkKeys(run, entries);
}

/** While nothing fails, two busy processes answer every command except a poisoned one. */
function checkCalm({ command, outcome }: Attempt): void {
  if (outcome.kind !== "fault") return;
  const ours = REFUSED_BY_US.has(outcome.code) || outcome.code === "OUTCOME_UNKNOWN";
  must(!ours || isPoison(command), `${command.type} got ${outcome.code} on a calm day`);
}

/** If a process ends, those who asked another one still learn the outcome. */
function checkKnown({ command, outcome }: Attempt): void {
  const isUnknown = outcome.kind === "fault" && outcome.code === "OUTCOME_UNKNOWN";
  must(!isUnknown, `${command.type} got OUTCOME_UNKNOWN while the database held`);
}

/** Gapless, linked, sealed, and never back in time; the head row is its end. */
function checkChain({ database }: Run): void {
  let [previous, ts] = ["0".repeat(64), ""];
  database.audit.forEach((entry, index) => {
    must(entry.seq === BigInt(index + 1), `entry ${index + 1} has seq ${entry.seq}`);
    const lines = ["pmctl-audit-v1", previous, entry.keyId, entry.seq, entry.ts, entry.type, entry.actor];
    const hash = createHmac("sha256", SECRET)
      .update([...lines, entry.payloadText].join("\n"))
      .digest("hex");
    must(hash === entry.hash, `entry ${entry.seq} does not link to the one before it`);
    must(ts <= entry.ts, `entry ${entry.seq} is older than the one before it`);
    [previous, ts] = [entry.hash, entry.ts];
  });
  must(database.head.seq === BigInt(database.audit.length), "the head is not at the end of the journal");
  must(database.head.hash === previous, "the head is not the last hash");
}

function entriesByTask({ database }: Run): Map<string, AuditEntry[]> {
  const entries = new Map<string, AuditEntry[]>();
  for (const entry of database.audit) entries.set(entry.actor, [...(entries.get(entry.actor) ?? []), entry]);
  return entries;
}

/** Replays the journal, and on the way looks for a moment at which each refusal and each "nothing to do" was right. */
function checkJournal(run: Run): NaiveLedger {
  const ledger = new NaiveLedger();
  const keys: Keys = new Map();
  const tasks = new Map(run.tasks.map((task) => [task.actor, task]));
  let open = run.attempts.flatMap((attempt): Claim[] => claimOf(run, attempt));
  const settleClaims = (seq: number) => {
    open = open.filter((claim) => {
      const due = claim.attempt.sentSeq <= seq && seq <= claim.attempt.answeredSeq;
      return !(due && holds(claim, ledger, keys));
    });
  };
  const remember = (seq: number) => {
    for (const { seq: end, answer } of run.database.answeredAt)
      if (end === seq) keys.set(answer.key, answer.requestHash);
  };
  remember(0);
  settleClaims(0);
  for (const entry of run.database.audit) {
    const task = tasks.get(entry.actor);
    if (!task) throw new Disagreement(`entry ${entry.seq} belongs to no command: ${entry.actor}`);
    const command = task.command(String(JSON.parse(entry.payloadText).tradeId));
    must(!isPoison(command), `entry ${entry.seq} holds what the database refuses`);
    ledger.follow(entry, command);
    if (isTrade(command) || command.type === "resumeMarket") {
      const closeAt = ledger.books.get(command.marketId)?.closeAt ?? 0;
      const committedAt = run.database.committedAt[Number(entry.seq) - 1] ?? Number.POSITIVE_INFINITY;
      must(committedAt < closeAt, `entry ${entry.seq} was committed after the market closed`);
    }
    remember(Number(entry.seq));
    settleClaims(Number(entry.seq));
  }
  const [broken] = open;
  if (broken) {
    const { attempt, what } = broken;
    throw new Disagreement(
      `${attempt.task.actor} ${attempt.command.type} was told ${what} between entries ${attempt.sentSeq} and ` +
        `${attempt.answeredSeq}, which was true at none of them`,
    );
  }
  return ledger;
}

function claimOf(run: Run, attempt: Attempt): Claim[] {
  const { outcome, command } = attempt;
  if (outcome.kind === "replayed") return [{ attempt, what: "replayed" }];
  if (outcome.kind === "done") return effectOf(run, attempt) ? [] : [{ attempt, what: "nothing to do" }];
  if (outcome.kind === "silence" || outcome.code === "OUTCOME_UNKNOWN" || REFUSED_BY_US.has(outcome.code)) return [];
  // A refusal says what is, and promises nothing.
  if (attempt.overtaken) return [];
  must(outcome.code !== "not a fault", `${command.type} failed with ${String(outcome.kind)}`);
  return [{ attempt, what: outcome.code }];
}

/** The entry that the attempt caused, written while its client was waiting. */
function effectOf({ database }: Run, { task, outcome, sentSeq, answeredSeq }: Attempt): AuditEntry | undefined {
  const tradeId = outcome.kind === "done" ? (outcome.result as TradeResult | undefined)?.tradeId : undefined;
  return database.audit
    .slice(sentSeq, answeredSeq)
    .find(
      ({ actor, payloadText }) =>
        actor === task.actor && (tradeId === undefined || JSON.parse(payloadText).tradeId === tradeId),
    );
}

/** Every row against the replayed ledger. */
function checkRows({ database }: Run, ledger: NaiveLedger): void {
  const moved = new Map<string, bigint>();
  for (const { debit, credit, amountMicro } of database.transfers) {
    moved.set(debit, (moved.get(debit) ?? 0n) - amountMicro);
    moved.set(credit, (moved.get(credit) ?? 0n) + amountMicro);
  }
  const ids = new Set([...database.all("account").map(({ id }) => id), ...ledger.balances.keys(), ...moved.keys()]);
  for (const id of ids) {
    const balance = database.row("account", id)?.balanceMicro ?? 0n;
    must(balance === ledger.balance(id), `${id} has ${balance}, ${ledger.balance(id)} expected`);
    must(balance === (moved.get(id) ?? 0n), `${id} has ${balance}, its transfers add up to ${moved.get(id)}`);
  }
  for (const [id, book] of ledger.books) {
    const row = database.row("marketState", id);
    const actual = [row?.yesMicro, row?.noMicro, row?.status, row?.volumeMicro].join(" ");
    must(actual === [book.yes, book.no, book.status, book.volume].join(" "), `book ${id} is ${actual}`);
    const texts = database.all("clarification").filter(({ marketId }) => marketId === id);
    const shown = texts
      .sort((a, b) => a.position - b.position)
      .map((each) => `${each.position} ${each.id} ${each.text}`);
    must(
      shown.join() === book.texts.map((text, index) => `${index + 1} ${text}`).join(),
      `texts of ${id} are ${shown}`,
    );
  }
  must(database.all("marketState").length === ledger.books.size, "there are other books than the journal's");
  const held = database
    .all("position")
    .map((p) => `${p.traderId} ${p.side} ${p.marketId} ${p.sharesMicro} ${p.costMicro}`);
  const due = [...ledger.positions].map(([key, { shares, cost }]) => `${key} ${shares} ${cost}`);
  must(held.sort().join() === due.sort().join(), `positions are ${held.join()}, ${due.join()} expected`);
  for (const [trader, { state }] of ledger.kyc) must(database.row("trader", trader)?.kyc === state, `KYC of ${trader}`);
  for (const { id, restricted } of database.all("trader")) must(restricted === ledger.restricted.has(id), `user ${id}`);
  for (const [id, { status }] of ledger.withdrawals)
    must(database.row("withdrawal", id)?.status === status, `withdrawal ${id} is not ${status}`);
  must(database.all("withdrawal").length === ledger.withdrawals.size, "withdrawals");
  must(database.all("receipt").length === ledger.receipts.size, "receipts");
  must(database.row("tenant", "")?.policy.feeBps === ledger.limits.feeBps, "policy");
  const executed = database.audit.filter(({ type }) => type === "trade.executed").length;
  must(database.trades.length === executed, "trades without entries");
  for (const { id, seq } of database.trades) {
    const payload = database.audit[Number(seq) - 1]?.payloadText ?? "{}";
    must(JSON.parse(payload).tradeId === id, `trade ${id} is filed under entry ${seq}`);
  }
}

/** What was answered was kept, once, and nothing else was. */
function checkDeliveries({ database, attempts }: Run): void {
  const kept = new Set(database.all("inboundDelivery").map(({ sha256 }) => sha256));
  const asked = new Set<string>();
  for (const { command, outcome } of attempts) {
    const sha256 = "webhook" in command ? command.webhook?.sha256 : undefined;
    if (sha256 === undefined) continue;
    asked.add(sha256);
    if (outcome.kind === "done") must(kept.has(sha256), `webhook ${sha256} was acknowledged and is not kept`);
  }
  for (const sha256 of kept) must(asked.has(sha256), `no caller delivered ${sha256}`);
}

/** The client was told that this attempt had no effect. */
function denies(outcome: Outcome): boolean {
  return outcome.kind === "fault" && outcome.code !== "OUTCOME_UNKNOWN";
}

/** What the client heard is what the journal says. */
function checkAttempt(run: Run, attempt: Attempt, entries: AuditEntry[]): void {
  const { task, command, outcome } = attempt;
  const name = `${task.actor} ${command.type}`;
  if (isTrade(command)) {
    // Under a key the id follows from the key, so all attempts of a task have one; others have an id each.
    const own = task.key
      ? entries.filter(({ type }) => type === "trade.executed")
      : entries.filter(({ payloadText }) => JSON.parse(payloadText).tradeId === command.id);
    must(own.length <= 1, `${name} was executed ${own.length} times`);
    if (outcome.kind === "done") must(own.length === 1, `${name} was acknowledged and is not in the journal`);
    if (!task.key && outcome.kind === "replayed") must(own.length === 0, `${name} was replayed and executed`);
    if (!task.key && denies(outcome)) must(own.length === 0, `${name} was refused and executed`);
  } else if (!task.key && denies(outcome) && entries.length > 0) {
    const explained = run.attempts.some((other) => other.task === task && !denies(other.outcome));
    must(explained, `${name} was refused and executed`);
  }
  if (outcome.kind === "fault" && outcome.code === "INTERNAL")
    must(isPoison(command) || run.errors.length > 0, `${name} failed without anybody being told why`);
}

/** One effect per task and per key, and one answer to everybody who asked with it. */
function checkKeys(run: Run, entries: Map<string, AuditEntry[]>): void {
  const effects = new Map<string, Task[]>();
  for (const task of run.tasks) {
    const own = entries.get(task.actor) ?? [];
    must(own.length <= 1, `${task.actor} took effect ${own.length} times`);
    if (task.key && own.length > 0) effects.set(task.key.key, [...(effects.get(task.key.key) ?? []), task]);
  }
  for (const [key, tasks] of effects) {
    must(tasks.length === 1, `key ${key} had ${tasks.length} effects`);
    const stored = run.database.row("storedAnswer", `client\n${key}`);
    const [task] = tasks;
    must(stored?.requestHash === task?.key?.requestHash, `the answer to ${key} is not stored with its effect`);
    checkNoLateEffect(run, task as Task, entries);
  }
  for (const { task, outcome } of run.attempts) {
    if (!task.key || (outcome.kind !== "done" && outcome.kind !== "replayed")) continue;
    // Stored whether it changed anything or not.
    const stored = run.database.row("storedAnswer", `client\n${task.key.key}`);
    must(outcome.body === stored?.body, `${task.key.key} was answered ${outcome.body} and ${stored?.body}`);
  }
}

function isTrade(command: Command): command is Command<"placeTrade"> | Command<"sellShares"> {
  return command.type === "placeTrade" || command.type === "sellShares";
}

/**
 * A refusal after an unknown outcome is final. The same command on the same state gets the same decision, so the process
 * that refused has seen another state. A statement of the earlier attempt that is still under way then finds a moved head.
 */
function checkNoLateEffect(run: Run, task: Task, entries: Map<string, AuditEntry[]>): void {
  const seq = Number(entries.get(task.actor)?.[0]?.seq ?? 0);
  const last = run.attempts.findLast((attempt) => attempt.task === task) as Attempt;
  if (last.overtaken) return;
  must(!(denies(last.outcome) && last.answeredSeq < seq), `${task.actor} took effect after its client was refused`);
}
