import { describe, expect, test } from "vitest";
import { evaluateAttempt } from "../../src/outgoing/retry.ts";

const NOW = Date.UTC(2027, 0, 1);
const SECOND = 1000;
const HOUR = 3600 * SECOND;
const SCHEDULE = [5 * SECOND, 30 * SECOND, 120 * SECOND, 600 * SECOND, HOUR, 6 * HOUR, 24 * HOUR];
const failed = { status: 500, excerpt: "" };
const waitAfter = (result: Parameters<typeof evaluateAttempt>[0], attempts: number, random = 0) => {
  const verdict = evaluateAttempt(result, attempts, NOW, random);
  return verdict.kind === "retry" ? verdict.atMs - NOW : verdict.kind;
};

describe("an attempt", () => {
  test.each([200, 201, 204, 299])("that is answered with %i is the last one", (status) => {
    expect(evaluateAttempt({ status, excerpt: "" }, 1, NOW, 0)).toEqual({ kind: "delivered" });
  });

  test.each([null, 100, 301, 302, 307, 400, 401, 404, 429, 500, 503])("that ends with %s is made again", (status) => {
    expect(waitAfter({ status, excerpt: "" }, 1)).toBe(5 * SECOND);
  });

  test("is followed by others on the schedule, seven times, and then by none", () => {
    expect(SCHEDULE.map((_, index) => waitAfter(failed, index + 1))).toEqual(SCHEDULE);
    expect(waitAfter(failed, 8)).toBe("dead");
    expect(waitAfter(failed, 9)).toBe("dead");
  });

  test("is repeated at most a fifth later than the schedule says, and never earlier", () => {
    expect(SCHEDULE.map((_, index) => waitAfter(failed, index + 1, 1))).toEqual(SCHEDULE.map((ms) => ms * 1.2));
  });

  test("that asks for patience gets it, up to a day", () => {
    const asking = (retryAfter: string) => waitAfter({ status: 503, excerpt: "", retryAfter }, 1);
    expect(asking("120")).toBe(120 * SECOND);
    expect(asking(new Date(NOW + 90 * SECOND).toUTCString())).toBe(90 * SECOND);
    expect(asking("999999999")).toBe(24 * HOUR);
    for (const less of ["0", "1", "-5", "soon", "", new Date(NOW - HOUR).toUTCString()])
      expect(asking(less)).toBe(5 * SECOND);
  });

  test("that is answered with 410 is the last one of all", () => {
    expect(evaluateAttempt({ status: 410, excerpt: "" }, 1, NOW, 0)).toEqual({ kind: "dead", disables: true });
  });
});
