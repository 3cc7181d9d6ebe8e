import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  carryOut,
  type FleetRun,
  newRun,
  type Outcome,
  type Steps,
  type WavePlan,
} from "../../src/app/fleet/fleet-run.ts";
import { currentRun, readRun, runFile, whileAlone, writeRun } from "../../src/app/fleet/kept-run.ts";

// In memory where there is such a folder: thousands of states are kept, each with two flushes.
const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "pmctl-fleet-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

class Killed extends Error {}

/** Tenants whose applies are numbered, and a process that can be killed at each moment that it keeps its run. */
class Fleet {
  readonly directory = mkdtempSync(join(root, "f"));
  readonly waves: { name: string; tenants: string[] }[];
  /** The newest apply of each tenant. */
  readonly seqs = new Map<string, number>();
  /** Everything that was done, in order. */
  readonly log: string[] = [];
  /** Called after each line of the log. */
  onLine: (line: string) => unknown = () => {};
  readonly refused = new Set<string>();
  failing: string | undefined;
  files = "v1";

  constructor(...sizes: number[]) {
    this.waves = sizes.map((size, wave) => ({
      name: `wave${wave}`,
      tenants: Array.from({ length: size }, (_, index) => `t${wave}-${index}`),
    }));
    for (const tenant of this.waves.flatMap(({ tenants }) => tenants)) this.seqs.set(tenant, 1);
  }

  readonly applied = new Map<string, string>();

  #note(line: string): void {
    this.log.push(line);
    this.onLine(line);
  }

  /** One `fleet apply`. @param killAt the save that the process does not survive, and whether it still got through */
  async apply({
    killAt = { save: Number.POSITIVE_INFINITY, kept: false },
    onFailure = "stop",
    parallelism = 1,
    signal = new AbortController().signal,
  }: {
    killAt?: { save: number; kept: boolean };
    signal?: AbortSignal;
  } & Partial<WavePlan> = {}): Promise<FleetRun> {
    let saves = 0;
    let dead = false;
    const alive = () => {
      if (dead) throw new Killed();
    };
    const seqOf = (tenant: string) => this.seqs.get(tenant) ?? 0;
    const commit = (tenant: string, what: string) => {
      this.seqs.set(tenant, seqOf(tenant) + 1);
      this.#note(`${what} ${tenant}`);
    };
    const steps: Steps = {
      filesChanged: async () => this.files !== run.files,
      apply: async (tenant, earlier, stands): Promise<Outcome> => {
        const isIn = earlier !== undefined && earlier.seq !== seqOf(tenant);
        const stood = isIn ? earlier : { seq: seqOf(tenant), live: {} };
        stands(stood, isIn);
        if (this.refused.has(tenant)) return { state: "refused", seq: null, problem: "drift", wrote: false };
        if (this.applied.get(tenant) !== this.files) {
          commit(tenant, "apply");
          this.applied.set(tenant, this.files);
        }
        await Promise.resolve();
        alive();
        const wrote = seqOf(tenant) !== stood.seq;
        return { state: wrote ? "applied" : "unchanged", seq: seqOf(tenant), problem: null, wrote };
      },
      rollBack: async (tenant, { seq }) => {
        if (this.applied.get(tenant) === this.files && seqOf(tenant) !== seq) {
          commit(tenant, "back");
          this.applied.delete(tenant);
        }
        alive();
        return { state: "rolledBack", seq: seqOf(tenant), problem: null, wrote: true };
      },
      gate: async (wave, found) => {
        this.#note(`gate ${wave}`);
        for (const tenant of this.waves.find(({ name }) => name === wave)?.tenants ?? [])
          found({ check: "chain", tenant, ok: this.failing !== tenant, found: "" });
      },
      save: (kept) => {
        alive();
        saves += 1;
        dead = saves === killAt.save;
        if (!dead || killAt.kept) writeRun(this.directory, kept);
        alive();
      },
      tell: () => {},
    };
    const run: FleetRun = await whileAlone(this.directory, async () => {
      const last = readRun(this.directory);
      return last && last.state !== "done" && last.files === this.files
        ? last
        : newRun({ run: "r", files: this.files, startedAt: "2026-01-01T00:00:00.000Z" }, this.waves);
    });
    const plans = this.waves.map(() => ({ onFailure, parallelism }));
    await carryOut(run, steps, { plans, signal, now: () => "2026-01-01T00:00:01.000Z" }).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
    return run;
  }

  /** Applies and gates in the order in which they happened. */
  expectInOrder(): void {
    const applies = this.log.filter((line) => line.startsWith("apply"));
    expect(new Set(applies).size).toBe(applies.length);
    for (const [index, { tenants }] of this.waves.entries()) {
      const first = this.log.findIndex((line) => tenants.includes(line.replace("apply ", "")));
      if (index > 0) expect(this.log.slice(0, first)).toContain(`gate wave${index - 1}`);
      expect(this.log.slice(first === -1 ? this.log.length : first)).not.toContain(`gate wave${index - 1}`);
    }
  }
}

describe("a run of the fleet", () => {
  test("killed at any instant in any wave goes on: each tenant is applied once, and a passed gate is not looked at again", async () => {
    for (let save = 1; save < 100; save += 1) {
      for (const kept of [false, true]) {
        const fleet = new Fleet(1, 2, 1);
        const killed = await fleet.apply({ killAt: { save, kept } });
        if (killed.state === "done") return expect(save).toBeGreaterThan(15);
        // Its process is gone, whatever the file says.
        expect(["interrupted", "done", undefined]).toContain((await currentRun(fleet.directory))?.state);
        const run = await fleet.apply();
        expect(run.state).toBe("done");
        expect(run.waves.map(({ state }) => state)).toEqual(["passed", "passed", "passed"]);
        const tenants = run.waves.flatMap((wave) => wave.tenants);
        fleet.expectInOrder();
        expect([...fleet.seqs.values()]).toEqual(tenants.map(() => 2));
        expect(tenants.every(({ state, seq }) => state === "applied" && seq === 2)).toBe(true);
      }
    }
  });

  test("killed at any instant of a rollback finishes it before anything else, and leaves no tenant changed", async () => {
    for (let save = 1; save < 100; save += 1) {
      const fleet = new Fleet(2, 1);
      fleet.failing = "t0-1";
      const killed = await fleet.apply({ killAt: { save, kept: true }, onFailure: "rollback" });
      const isWhole = killed.state === "failed" && readRun(fleet.directory)?.state === "failed";
      const run = isWhole ? killed : await fleet.apply({ onFailure: "rollback" });
      expect(run.state).toBe("failed");
      expect(run.waves).toMatchObject([
        { state: "rolledBack", tenants: [{ state: "rolledBack" }, { state: "rolledBack" }] },
        { state: "pending", tenants: [{ state: "pending" }] },
      ]);
      expect([...fleet.applied.keys()]).toEqual([]);
      if (isWhole) return expect(save).toBeGreaterThan(10);
    }
  });

  test("with rollback, a wave that wrote nothing failed: nothing goes back", async () => {
    const fleet = new Fleet(2);
    fleet.refused.add("t0-0");
    const run = await fleet.apply({ onFailure: "rollback" });
    expect(run.waves).toMatchObject([{ state: "failed", tenants: [{ state: "refused" }, { state: "pending" }] }]);
    expect(await fleet.apply({ onFailure: "rollback" })).toMatchObject({ waves: [{ state: "failed" }] });
  });

  test("of 200 tenants, interrupted in each wave and failing each gate once, passes no failed gate and repeats nothing else", async () => {
    const fleet = new Fleet(5, 45, 150);
    const states = ({ waves }: FleetRun) => waves.map(({ state }) => state);
    for (const [wave, failing] of ["t0-3", "t1-40", "t2-140"].entries()) {
      const upTo = (state: string) =>
        fleet.waves.map((_, index) => (index < wave ? "passed" : index > wave ? "pending" : state));
      // Ctrl-C while the wave is applied.
      const stop = new AbortController();
      fleet.onLine = (line) => line === `apply t${wave}-2` && stop.abort();
      fleet.failing = failing;
      const interrupted = await fleet.apply({ parallelism: 2, signal: stop.signal });
      expect([interrupted.state, ...states(interrupted)]).toEqual(["interrupted", ...upTo("running")]);
      fleet.onLine = () => {};
      const failed = await fleet.apply({ parallelism: 8 });
      expect([failed.state, ...states(failed)]).toEqual(["failed", ...upTo("failed")]);
      expect(fleet.applied.size).toBe([5, 50, 200][wave]);
    }
    fleet.failing = undefined;
    expect((await fleet.apply({ parallelism: 8 })).state).toBe("done");
    fleet.expectInOrder();
    const gates = fleet.log.filter((line) => line.startsWith("gate"));
    expect(gates).toEqual([0, 0, 1, 1, 2, 2].map((wave) => `gate wave${wave}`));
  });

  test("a refused tenant ends its wave: tenants behind it wait, and its gate is not looked at", async () => {
    const fleet = new Fleet(3);
    fleet.refused.add("t0-1");
    const run = await fleet.apply();
    expect(run.waves[0]?.tenants.map(({ state }) => state)).toEqual(["applied", "refused", "pending"]);
    expect(fleet.log).toEqual(["apply t0-0"]);
    fleet.refused.clear();
    expect((await fleet.apply()).state).toBe("done");
    fleet.expectInOrder();
  });

  test("other files begin anew; files that change while it is at work end it before the next wave", async () => {
    const fleet = new Fleet(1, 1);
    fleet.failing = "t0-0";
    await fleet.apply();
    fleet.files = "v2";
    fleet.failing = undefined;
    expect((await fleet.apply()).waves[0]?.tenants[0]).toMatchObject({ state: "applied", seq: 3 });

    const edited = new Fleet(1, 1);
    edited.onLine = (line) => {
      if (line === "gate wave0") edited.files = "v2";
    };
    expect((await edited.apply()).waves.map(({ state }) => state)).toEqual(["passed", "pending"]);
    expect(readRun(edited.directory)?.state).toBe("failed");
  });

  test("a pipe in place of the kept run is refused at once, and a new run replaces it", async () => {
    const fleet = new Fleet(1);
    const run = await fleet.apply();
    for (const file of [runFile(fleet.directory), `${runFile(fleet.directory)}.new`]) {
      rmSync(file, { force: true });
      execFileSync("mkfifo", [file]);
    }
    await expect(currentRun(fleet.directory)).rejects.toThrow(/run\.json is not a file.*--restart/);
    writeRun(fleet.directory, run);
    expect(await currentRun(fleet.directory)).toEqual(run);
  });

  test("two at once in a directory: the second is refused and changes nothing", async () => {
    const fleet = new Fleet(1);
    await fleet.apply();
    await whileAlone(fleet.directory, async () => {
      await expect(whileAlone(fleet.directory, async () => {})).rejects.toMatchObject({ code: "REFUSED" });
    });
  });
});
