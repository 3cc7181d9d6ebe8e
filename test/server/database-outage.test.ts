import pino from "pino";
import { expect, test, vi } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import { DatabaseOutage } from "../../src/server/observe/database-outage.ts";
import { lineForPeople } from "../../src/server/observe/log-line.ts";

function listener() {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  return { lines, log };
}
const refused = () => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

test("while the database is away all failures are one line, and its return is one", async () => {
  const { lines, log } = listener();
  const outage = new DatabaseOutage();
  let up = false;
  outage.watch(log, async () => up);
  const unwritten = vi.fn();
  expect(outage.takes(refused(), unwritten)).toBe(true);
  expect(outage.takes(new Fault("DATABASE_UNAVAILABLE", "away", { cause: refused() }), unwritten)).toBe(true);
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 60_000 });
  expect(lines[0]).toMatch(/^The database is away: .*pmctl db status, pmctl doctor$/);
  expect(outage.takes(refused(), unwritten)).toBe(true);
  up = true;
  await vi.waitFor(() => expect(lines).toHaveLength(2), { timeout: 60_000 });
  expect(lines[1]).toMatch(/^The database is back after \d+ s$/);
  expect(unwritten).not.toHaveBeenCalled();
});

test("another server's refused connection is told as it is, and so is what has nothing to do with connections", async () => {
  const { lines, log } = listener();
  const outage = new DatabaseOutage();
  outage.watch(log, async () => true);
  const written = vi.fn();
  expect(outage.takes(refused(), written)).toBe(true);
  await vi.waitFor(() => expect(written).toHaveBeenCalledTimes(1), { timeout: 60_000 });
  expect(outage.takes(new Error("a bug"), written)).toBe(false);
  expect(outage.takes(new Fault("NOT_FOUND", "Not found"), written)).toBe(false);
  expect(lines).toEqual([]);
});

test("a person at the terminal reads time, level, message and what is known, in one line without a stack", () => {
  const json = { level: 50, time: 0, name: "pmctl", tenant: "acme", msg: "Webhooks cannot be delivered" };
  const err = { type: "Error", message: "a\u001b[2Jb", stack: "at x" };
  expect(lineForPeople(JSON.stringify({ ...json, err, receiver: "crm", count: 2 }))).toMatch(
    /^\S*00:00:00\S* \S*ERROR\S* Webhooks cannot be delivered: a \[2Jb receiver=crm count=2\n$/,
  );
  expect(lineForPeople(JSON.stringify(json), true)).toContain(" acme: Webhooks cannot be delivered\n");
});
