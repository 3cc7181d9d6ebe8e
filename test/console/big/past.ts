import { type AuditKey, auditKey, sealCheck } from "../../../src/domain/audit/seal.ts";
import type { Table, Tables } from "../../../src/engine/rows.ts";
import { commitStatement, type Head } from "../../../src/ledger/commit.ts";
import { loadRows } from "../../../src/ledger/load.ts";
import { needsOfSubmission, prepareBatch, type Submission } from "../../../src/ledger/sequencer/batch.ts";
import { Memory } from "../../../src/ledger/sequencer/memory.ts";
import { type Connection, connect, type Sql } from "../../../src/postgres/connect.ts";

/**
 * Writes a tenant's past: the commands are decided by the engine and sealed as a sequencer does it, at chosen instants, and
 * the commit statement writes them. Every row stays in memory, so that hardly any is read.
 */
export class Past {
  readonly #sql: Sql;
  readonly #key: AuditKey;
  readonly #memory = new Memory();
  #head: Head;
  #committing: Promise<void> = Promise.resolve();
  /** Commands that the engine refused, by the message. */
  readonly refused = new Map<string, number>();

  private constructor(sql: Sql, key: AuditKey, head: Head) {
    this.#sql = sql;
    this.#key = key;
    this.#head = head;
  }

  /** @param connection of the owner of an empty database with the present schema */
  static async open(connection: Connection, auditSecret: string): Promise<Past> {
    // Without the deadlines of a server: a batch is large, and the machine may be busy.
    const sql = connect(connection, { name: "past", max: 1, genericPlans: true });
    const [head] = await sql`select seq, hash, epoch, ts from head where id = 1`;
    const { seq, hash, epoch, ts } = head ?? {};
    return new Past(sql, auditKey(auditSecret), { seq: BigInt(seq), hash, epoch: BigInt(epoch), ts: Number(ts) });
  }

  /** A row as the last batch left it. */
  row<T extends Table>(table: T, key: string): Tables[T] | undefined {
    return this.#memory.get(table, key);
  }

  /**
   * Decides commands at an instant and commits them in one batch. The next batch is decided meanwhile.
   * @param reads whether rows that are not in memory are read; else they count as not there
   * @param counted which of them count for the result
   * @returns how many of these were not refused
   */
  async commit(
    submissions: readonly Submission[],
    now: number,
    { reads = false, counted = () => true }: { reads?: boolean; counted?: (submission: Submission) => boolean } = {},
  ): Promise<number> {
    if (submissions.length === 0) return 0;
    if (reads) await this.#read(submissions);
    const { outcomes, batch } = prepareBatch(this.#memory, submissions, { head: this.#head, now, key: this.#key });
    for (const outcome of outcomes) {
      if (outcome.kind !== "refused") continue;
      const message = String(outcome.fault);
      this.refused.set(message, (this.refused.get(message) ?? 0) + 1);
    }
    await this.#committing;
    if (batch) {
      // The closing times are in the past by the database's clock.
      const { text, parameters } = commitStatement({ ...batch, before: null });
      this.#committing = this.#sql.unsafe(text, parameters, { prepare: true }).then(([written]) => {
        if (written?.swapped !== 1) throw new Error("Another process writes into the tenant that is being made");
      });
      // Awaited with the next batch, or at the end.
      this.#committing.catch(() => {});
      this.#memory.publish(batch.writes);
      // Never read again, and one for each user.
      this.#memory.withdraw(batch.writes.filter(({ table }) => table === "receipt"));
      this.#head = batch.next;
    }
    return outcomes.filter(({ kind }, index) => kind !== "refused" && counted(submissions[index] as Submission)).length;
  }

  async #read(submissions: readonly Submission[]): Promise<void> {
    await this.#committing;
    const needs = submissions.flatMap(needsOfSubmission).filter((need) => !this.#memory.knows(need));
    const each = new Map(needs.map((need) => [JSON.stringify(need), need])).values();
    this.#memory.learn(await loadRows(this.#sql, [...each], sealCheck([this.#key])));
  }

  /** Waits for the last batch. */
  async end(): Promise<void> {
    await this.#committing;
    await this.#sql.end({ timeout: 5 });
  }
}
