import { describe, expect, onTestFinished, test, vi } from "vitest";
import { forgetOldCounts } from "../../src/ledger/unchained/forget.ts";
import { countRequests, type SharedCount } from "../../src/ledger/unchained/request-count.ts";
import { RateLimiter } from "../../src/server/rate-limiter.ts";
import { backendOfTests } from "./support/during-tests.ts";

const backend = backendOfTests();

/** Lets the process's own clock, and timers where told, move only when the test says so. */
function stopTime(...toFake: ("performance" | "setTimeout" | "clearTimeout")[]): void {
  vi.useFakeTimers({ toFake });
  onTestFinished(() => void vi.useRealTimers());
}

describe("a process", () => {
  test("refuses by what it remembers until the window ends, to the millisecond, and then asks again", async () => {
    stopTime("performance");
    const counts: SharedCount[] = [
      { bucket: "a", requests: 3, remainingMs: 1000 },
      { bucket: "a", requests: 1, remainingMs: 60_000 },
    ];
    const limiter = new RateLimiter({ count: async () => counts.splice(0, 1), onAway: () => {} });
    expect(await limiter.take("a", 2)).toMatchObject({ allowed: false, resetSec: 1 });
    vi.advanceTimersByTime(999);
    expect(limiter.take("a", 2)).toMatchObject({ allowed: false, resetSec: 1 });
    vi.advanceTimersByTime(1);
    expect(await limiter.take("a", 2)).toMatchObject({ allowed: true, remaining: 1, resetSec: 60 });
    expect(counts).toEqual([]);
  });

  test("a counter that does not answer delays no request, and counts again when it is back", async () => {
    stopTime("performance", "setTimeout", "clearTimeout");
    let away = true;
    const waiting: (() => void)[] = [];
    let reports = 0;
    const limiter = new RateLimiter({
      count: async (demands) => {
        reports += 1;
        if (away) await new Promise<void>((resolve) => waiting.push(resolve));
        return demands.map(({ bucket, requests }): SharedCount => ({ bucket, requests, remainingMs: 60_000 }));
      },
      onAway: () => {},
    });
    let answered = 0;
    const asked = [1, 2, 3].map(async () => {
      const standing = await limiter.take("a", 2);
      answered += 1;
      return standing;
    });
    await vi.advanceTimersByTimeAsync(249);
    expect(answered).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    const first = await Promise.all(asked);
    expect(first.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(limiter.take("b", 2)).toMatchObject({ allowed: true, remaining: 1 });
    expect(reports).toBe(1);
    away = false;
    for (const resume of waiting) resume();
    await vi.advanceTimersByTimeAsync(10);
    expect(limiter.take("a", 2)).toMatchObject({ allowed: false });
    expect(await limiter.take("c", 2)).toMatchObject({ allowed: true });
    expect(reports).toBe(2);
  });

  test("whatever was let through while the count was away, again and again, stays counted when it is back", async () => {
    stopTime("performance");
    let shared = 0;
    let isAway = false;
    const limiter = new RateLimiter({
      count: async (demands) => {
        if (isAway) throw new Error("away");
        return demands.map(({ bucket, requests }): SharedCount => {
          shared += requests;
          return { bucket, requests: shared, remainingMs: 50_000 };
        });
      },
      onAway: () => {},
    });
    let passed = 0;
    for (let outage = 0; outage < 10; outage++) {
      for (isAway of [false, true])
        for (let request = 0; request < 5; request++) passed += Number((await limiter.take("a", 30)).allowed);
      vi.advanceTimersByTime(1000);
    }
    expect(passed).toBe(30);
  });
});

describe("the cost of counting", () => {
  test("parallel requests share statements, and a client over its limit causes none", async () => {
    let statements = 0;
    const limiter = new RateLimiter({
      count: (demands) => {
        statements += 1;
        return countRequests(backend.sql, demands);
      },
      onAway: () => {},
      answerTimeoutMs: 60_000,
    });
    await backend.sql`truncate request_count`;
    await Promise.all(Array.from({ length: 500 }, () => limiter.take("a", 400)));
    expect(statements).toBeLessThan(10);
    statements = 0;
    for (let n = 0; n < 1000; n += 1) expect(limiter.take("a", 400)).toMatchObject({ allowed: false });
    expect(statements).toBe(0);
  });

  test("under a generous limit no request waits, and every request is counted all the same", async () => {
    // What is known of a window is fresh for a tenth of a second, which a busy machine may need for the loop below.
    stopTime("performance");
    let counted = 0;
    const limiter = new RateLimiter({
      count: async (demands) => {
        const counts = await countRequests(backend.sql, demands);
        counted += 1;
        return counts;
      },
      onAway: () => {},
      answerTimeoutMs: 60_000,
    });
    await backend.sql`truncate request_count`;
    await limiter.take("a", 1_000_000);
    let waited = 0;
    for (let n = 0; n < 5000; n += 1) if (limiter.take("a", 1_000_000) instanceof Promise) waited += 1;
    expect(waited).toBe(0);
    await expect.poll(() => counted).toBe(2);
    expect(await backend.sql`select requests from request_count`).toMatchObject([{ requests: 5001 }]);
    await backend.sql`update request_count set requests = 999999`;
    vi.advanceTimersByTime(150);
    const last = await Promise.all([1, 2].map(() => limiter.take("a", 1_000_000)));
    expect(last.map(({ allowed }) => allowed)).toEqual([true, false]);
  });

  test("under a generous limit each request leaves one less, also while a count is under way", async () => {
    stopTime("performance", "setTimeout", "clearTimeout");
    let total = 0;
    const underWay: (() => void)[] = [];
    const limiter = new RateLimiter({
      async count([{ bucket, requests } = { bucket: "", requests: 0 }]): Promise<SharedCount[]> {
        total += requests;
        const counted = { bucket, requests: total, remainingMs: 60_000 };
        await new Promise<void>((resolve) => underWay.push(resolve));
        return [counted];
      },
      onAway: () => {},
    });
    const left: number[] = [];
    const take = async () => left.push((await limiter.take("a", 1_000_000)).remaining);
    const arrive = async () => {
      for (const resume of underWay.splice(0)) resume();
      await vi.advanceTimersByTimeAsync(0);
    };
    const first = take();
    await arrive();
    await first;
    await take();
    await vi.advanceTimersByTimeAsync(20);
    expect(underWay).toHaveLength(1);
    await take();
    await arrive();
    await take();
    expect(left).toEqual([999_999, 999_998, 999_997, 999_996]);
  });

  test("windows that ended long ago are removed, others stay", async () => {
    await backend.sql`truncate request_count`;
    await countRequests(backend.sql, [
      { bucket: "old", requests: 1 },
      { bucket: "new", requests: 1 },
    ]);
    await backend.sql`update request_count set window_start = window_start - 200000 where bucket = 'old'`;
    // The holder of a /32 of IPv6 can send from as many networks as it likes.
    await backend.sql`
      insert into request_count (bucket, window_start, requests)
      select 'flood ' || n, 0, 1 from generate_series(1, 25000) n`;
    await forgetOldCounts(backend.pool);
    expect(await backend.sql`select bucket from request_count`).toMatchObject([{ bucket: "new" }]);
  });

  test("processes that count the same addresses in another order do not block each other", async () => {
    const names = Array.from({ length: 50 }, (_, n) => `address ${n}`);
    const demands = names.map((bucket) => ({ bucket, requests: 1 }));
    await backend.sql`truncate request_count`;
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => countRequests(backend.sql, n % 2 ? demands : demands.toReversed())),
    );
    const rows = await backend.sql`select distinct requests from request_count`;
    expect(rows).toMatchObject([{ requests: 40 }]);
  });

  test("a window that a wrong clock began in the future starts anew", async () => {
    await backend.sql`truncate request_count`;
    await countRequests(backend.sql, [{ bucket: "a", requests: 20 }]);
    await backend.sql`update request_count set window_start = window_start + 3600000`;
    const counted = await countRequests(backend.sql, [{ bucket: "a", requests: 1 }]);
    expect(counted).toEqual([{ bucket: "a", requests: 1, remainingMs: 60_000 }]);
  });
});
