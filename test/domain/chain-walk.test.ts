import { expect, test } from "vitest";
import { auditLines, GENESIS_HASH } from "../../src/domain/audit/audit-link.ts";
import { GENESIS, type WalkOptions, walkChain } from "../../src/domain/audit/chain-walk.ts";
import { auditHash, auditKey } from "../../src/domain/audit/seal.ts";
import { ROLLBACK_TYPE } from "../../src/domain/audit/set-back.ts";

const OLD = auditKey("the key before, an audit secret of the tests");
const NEW = auditKey("the key since, an audit secret of the tests");

type Row = Parameters<typeof auditLines>[0] & { hash: string };

/** Of eleven entries the first four are sealed by the replaced key. */
const LENGTH = 11;
const SEALED_BEFORE = 4;
/** Entry 8 of a lost branch. In entry 10 an operator gave it up. */
const LOST = { seq: 8n, hash: "a".repeat(64) };

function log(): Row[] {
  const rows: Row[] = [];
  let hash = GENESIS_HASH;
  for (let seq = 1n; seq <= LENGTH; seq++) {
    const key = seq <= SEALED_BEFORE ? OLD : NEW;
    const row = {
      ...{ keyId: key.id, seq, ts: `2026-06-01T12:00:${String(seq).padStart(2, "0")}.000Z` },
      ...{ type: "market.suspended", actor: "admin:Zoë", payloadText: `{"reason":"${"€".repeat(Number(seq))}"}` },
      ...(seq === 10n
        ? { type: ROLLBACK_TYPE, payloadText: `{"anchorHash":"${LOST.hash}","anchorSeq":${LOST.seq}}` }
        : {}),
    };
    hash = auditHash(key, hash, auditLines(row));
    rows.push({ ...row, hash });
  }
  return rows;
}

/** Walks the rows in pages of this size. */
function walk(rows: readonly Row[], size: number, options: Partial<WalkOptions>) {
  const pages = async function* () {
    for (let at = 0; at < rows.length; at += size)
      yield rows.slice(at, at + size).map((row) => ({ lines: auditLines(row), hash: row.hash }));
  };
  return walkChain(pages(), { keys: [NEW, OLD], ...options });
}

const HEAD = log().at(-1) as Row;

test.each([1, 2, 3, 4, 5, 11, 12])("a sound log verifies in pages of %i entries", async (size) => {
  const { end, broken } = await walk(log(), size, { head: HEAD });
  expect(broken).toBeUndefined();
  expect(end).toEqual({ seq: HEAD.seq, hash: HEAD.hash });
});

test("a log without entries verifies, and one with fewer than its head says is cut", async () => {
  expect(await walk([], 4, { head: GENESIS })).toMatchObject({ end: GENESIS });
  for (let kept = 0; kept < LENGTH; kept++) {
    const { broken } = await walk(log().slice(0, kept), 4, { head: HEAD });
    expect(broken).toMatchObject({ kind: "gap", seq: BigInt(kept + 1) });
  }
});

test("entries after the head are not looked at, wherever a page ends", async () => {
  for (const size of [1, 4, 12])
    for (let seq = 1; seq < LENGTH; seq++) {
      const rows = log();
      const head = rows[seq - 1] as Row;
      rows[seq] = { ...(rows[seq] as Row), actor: "cli:mallory" };
      const { end, broken } = await walk(rows, size, { head });
      expect({ end, broken }).toEqual({ end: { seq: head.seq, hash: head.hash }, broken: undefined });
    }
});

test("a broken entry is named in every place of a page, seams included, and the first break wins", async () => {
  for (let size = 1; size <= LENGTH + 1; size++)
    for (let seq = 1; seq <= LENGTH; seq++) {
      const rows = log();
      const damage = (at: number, change: Partial<Row>) => {
        if (rows[at]) rows[at] = { ...(rows[at] as Row), ...change };
      };
      damage(seq - 1, { actor: "cli:mallory" });
      damage(seq + size - 1, { hash: "0".repeat(64) });
      const { broken, end } = await walk(rows, size, { head: HEAD });
      expect(broken).toMatchObject({ kind: "broken", seq: BigInt(seq), stored: log()[seq - 1]?.hash });
      expect(end.seq).toBe(BigInt(seq - 1));
    }
});

test("a link is broken where an entry was exchanged for another one that the same key sealed", async () => {
  for (let seq = 1; seq < LENGTH; seq++) {
    const rows = log();
    const row = { ...(rows[seq] as Row), actor: "admin:other" };
    const key = seq < SEALED_BEFORE ? OLD : NEW;
    rows[seq] = { ...row, hash: auditHash(key, GENESIS_HASH, auditLines(row)) };
    const problem = `entry ${seq + 1} or its link to the one before was altered`;
    expect((await walk(rows, seq, { head: HEAD })).broken).toMatchObject({ kind: "broken", problem });
  }
});

test("an anchor that the log does not hold is found, unless an entry gives it up", async () => {
  const held = log().map(({ seq, hash, ts }) => ({ seq, hash, ts, source: "a file" }));
  const earlier = { seq: 4n, hash: "b".repeat(64), ts: "2026-06-01T11:00:00.000Z", source: "a file" };
  const later = { seq: 9n, hash: "c".repeat(64), ts: "2026-06-01T13:00:00.000Z", source: "a file" };
  for (const size of [1, 3, 12]) {
    const asked = async (anchors: WalkOptions["anchors"]) => (await walk(log(), size, { head: HEAD, anchors })).broken;
    expect(await asked([...held, { ...LOST, source: "a file" }, earlier])).toBeUndefined();
    expect(await asked([...held, later])).toMatchObject({ kind: "set-back", seq: 9n, stored: log()[8]?.hash });
  }
});
