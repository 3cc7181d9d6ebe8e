import { describe, expect, test } from "vitest";
import { isGenuine, parseAnchor, signAnchor } from "../../src/domain/audit/anchor.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { anchorsNotHeld, describeSetBack, newestNotHeld, newestOf } from "../../src/domain/audit/set-back.ts";

const KEY = auditKey("the audit key of the vector, 32 bytes+");
const ENTRY = { seq: 42n, hash: "a".repeat(64), ts: "2026-01-02T03:04:05.678Z" };
const LINE = signAnchor("acme", ENTRY, KEY);

describe("an anchor", () => {
  test("is signed over a fixed text: this vector was computed without pmctl", () => {
    expect(LINE).toEqual({
      tenant: "acme",
      seq: 42,
      hash: "a".repeat(64),
      ts: "2026-01-02T03:04:05.678Z",
      keyId: "ak_a6ceaa5d1a6b",
      signature: "870551966f5e290815b45e064f9bade86a877df6e63e9e7bb3549510676e0b22",
    });
  });

  test("reads back from its line", () => {
    expect(parseAnchor(JSON.stringify(LINE))).toEqual(LINE);
  });

  test.each(["", "null", "7", "{", '{"tenant":"acme","seq":42}', JSON.stringify({ ...LINE, seq: "42" })])(
    "%j is no anchor",
    (text) => expect(parseAnchor(text)).toBeUndefined(),
  );

  test.each([
    { tenant: "other" },
    { seq: 43 },
    { hash: "b".repeat(64) },
    { ts: "2026-01-02T03:04:05.679Z" },
    { keyId: "ak_000000000000" },
    { signature: `${LINE.signature}00` },
    { signature: LINE.signature.toUpperCase() },
  ])("with %j in it is not genuine", (change) => {
    expect(isGenuine({ ...LINE, ...change }, [KEY])).toBe(false);
  });

  test("counts for as long as its key is among those of the tenant, the earlier ones too", () => {
    expect(isGenuine(LINE, [auditKey("the next audit key of the tenant"), KEY])).toBe(true);
    expect(isGenuine(LINE, [auditKey("the next audit key of the tenant")])).toBe(false);
  });
});

describe("a log that was set back", () => {
  const head = { seq: 21n, hash: "n21" };
  const at = (seq: number, hash: string, ts?: string) => ({ seq: BigInt(seq), hash, ts, source: "a test" });

  test("holds no anchor beyond its head, and none at an entry with another hash", () => {
    const known = [at(10, "h10"), at(20, "o20"), at(26, "o26")];
    const hashes = new Map([
      [10n, "h10"],
      [20n, "n20"],
    ]);
    expect(anchorsNotHeld(known, { head, hashes })).toEqual([known[1], known[2]]);
  });

  test("an entry without a row is a gap, and not a set-back", () => {
    expect(anchorsNotHeld([at(10, "h10")], { head, hashes: new Map() })).toEqual([]);
  });

  test("the newest anchor says how much is lost", () => {
    expect(newestNotHeld([at(24, "o24"), at(26, "o26"), at(25, "o25")], head, [])).toEqual({
      anchor: at(26, "o26"),
      head,
      lost: 5n,
    });
  });

  test("has lost the branch that was made last, and not one that was given up before it began", () => {
    const givenUp = at(26, "a26", "2026-01-02T00:00:10.000Z");
    const branch = [at(17, "b17", "2026-01-02T00:00:20.000Z"), at(19, "b19", "2026-01-02T00:00:21.000Z")];
    const setBack = newestNotHeld([givenUp, ...branch], head, []);
    expect(setBack).toEqual({ anchor: branch[1], head, lost: 3n });
    expect(setBack && describeSetBack(setBack)).toBe(
      "the log was set back: entry 19 is not the entry that it contained; at least 3 entries are gone",
    );
    expect(newestOf([givenUp, ...branch])).toEqual(branch[1]);
  });

  test("that forked at a place unknown has lost at least the entry that is known to differ", () => {
    expect(newestNotHeld([at(19, "b19")], head, [])?.lost).toBe(1n);
    expect(newestNotHeld([at(19, "b19"), at(23, "b23")], head, [])?.lost).toBe(5n);
  });

  describe("and accepted", () => {
    const rollback = { ts: "2026-01-02T00:00:22.000Z", anchorSeq: 26n, anchorHash: "o26" };

    test("gives up the anchor that it names, whatever its time, and earlier ones of the lost branch", () => {
      const lost = [
        at(24, "o24", "2026-01-02T00:00:10.000Z"),
        at(26, "o26", "2026-01-03T00:00:00.000Z"),
        at(25, "o25"),
      ];
      expect(newestNotHeld(lost, head, [rollback])).toBeUndefined();
    });

    test("gives up no anchor beyond the one that it names", () => {
      const later = at(27, "o27", "2026-01-02T00:00:11.000Z");
      expect(newestNotHeld([later], head, [rollback])?.anchor).toEqual(later);
    });

    test("gives up an earlier anchor of a higher entry too, which an earlier set-back had lost", () => {
      const lost = [at(24, "o24", "2026-01-02T00:00:10.000Z"), at(30, "p30", "2026-01-02T00:00:09.000Z")];
      expect(newestNotHeld(lost, head, [rollback])).toBeUndefined();
      expect(newestNotHeld([at(30, "o30", "2026-01-02T00:00:11.000Z"), ...lost], head, [rollback])?.anchor.seq).toBe(
        30n,
      );
    });

    test("hides no later set-back: what was anchored after it still counts, also below the anchor that it names", () => {
      const after = at(24, "n24", "2026-01-02T00:00:23.000Z");
      expect(newestNotHeld([after], { seq: 23n, hash: "n23" }, [rollback])?.anchor).toEqual(after);
    });
  });
});
