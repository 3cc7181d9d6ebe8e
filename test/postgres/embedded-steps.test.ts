import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, describe, expect, test } from "vitest";
import { inSteps } from "../../src/postgres/embedded/steps.ts";
import { withLock } from "../../src/state/lock.ts";
import { clusterIn, createDirectory, endClusters } from "./embedded-support.ts";

afterAll(endClusters);

const LIMIT_MS = 50;

describe("work in steps", () => {
  test("is given up when one of its steps does not end, and the error names that step and what to do", async () => {
    const work = inSteps(LIMIT_MS, "The database", async (begin) => {
      begin("the first step");
      begin("the second step");
      await Promise.withResolvers<void>().promise;
    });
    await expect(work).rejects.toThrow(
      /^The database: gave up after 0\.05 s of the second step\. Look for .* try again/,
    );
  });

  test("goes no further once it was given up, because another command may have the lock by then", async () => {
    const slow = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<unknown>();
    const done: string[] = [];
    const work = inSteps(LIMIT_MS, "The database", async (begin) => {
      begin("a slow step");
      await slow.promise;
      try {
        begin("the next step");
        done.push("next");
      } catch (error) {
        ended.resolve(error);
        throw error;
      }
    });
    await expect(work).rejects.toThrow("a slow step");
    slow.resolve();
    expect(String(await ended.promise)).toContain("a slow step");
    expect(done).toEqual([]);
  });

  test("may take longer than a step, and its own errors pass", async () => {
    const work = inSteps(LIMIT_MS, "The database", async (begin) => {
      for (const step of ["one", "two", "three"]) {
        begin(step);
        await new Promise((resolve) => setTimeout(resolve, LIMIT_MS / 2));
      }
      throw new Error("its own");
    });
    await expect(work).rejects.toThrow(/^its own$/);
  });
});

describe("a file that is never read to its end", async () => {
  const directory = await createDirectory();
  const dataDir = join(directory, ".pmctl/postgres/data");
  const pipe = join(dataDir, "postmaster.pid");

  test("ends a start, a stop and a status in time, and leaves the lock to the next command", async () => {
    await mkdir(dataDir, { recursive: true });
    await execa("mkfifo", [pipe]);
    const stuck = clusterIn(directory, { stepLimitMs: 1000 });
    try {
      const errors = await Promise.all(
        [stuck.start(), stuck.status(), stuck.stop()].map((work) => work.then(String, (error: Error) => error.message)),
      );
      expect(errors).toEqual([
        expect.stringContaining("gave up after 1 s of looking for a server that runs"),
        expect.stringContaining("gave up after 1 s of looking for a server that runs"),
        expect.stringContaining("gave up after 1 s of waiting for a server that starts or stops already"),
      ]);
    } finally {
      // Each of them reads, so the writer opens at once and its end lets them all go.
      await (await open(pipe, "r+")).close();
      await rm(pipe);
    }
    expect(await clusterIn(directory).stop()).toBe(false);
  });
});

test("a lock that stays taken is refused with the file and with what its holders do", async () => {
  const path = join(await createDirectory(), "lock");
  const second = withLock(path, 0, "starting this database", () =>
    withLock(path, 0, "signing a certificate for acme", async () => {}),
  );
  await expect(second).rejects.toThrow(
    `Another pmctl command has been signing a certificate for acme for 0 s (it holds ${path})`,
  );
});
