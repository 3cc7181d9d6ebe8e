import { mkdtemp, rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isListedHost } from "../../src/domain/access/networks.ts";
import { feedCatalogue } from "../../src/domain/feeds/feed.ts";
import { PRESETS } from "../../src/domain/feeds/presets.ts";
import { sourceSet } from "../../src/oracle/sources.ts";
import { pmctlHere } from "./support/pmctl.ts";

interface Line {
  source: string;
  hosts: string[];
  needs: string[];
  instruments: string[];
}

// A directory without a tenant, a database and a server.
let cwd = "";
let lines: Line[] = [];
beforeAll(async () => {
  cwd = await mkdtemp("/tmp/pmctl-oracle-sources-");
  const { code, stdout, stderr } = await pmctlHere(["oracle", "sources", "-o", "json"], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  lines = JSON.parse(stdout);
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

test("every source that a tenant file can name is listed, the best first", () => {
  expect(lines.map(({ source }) => source)).toEqual(Object.keys(PRESETS));
});

test("the hosts of a source are those of every address that it is asked at", () => {
  for (const { source, hosts } of lines) {
    const addresses = JSON.stringify(PRESETS[source]).match(/https?:\/\/[^"]+/g) ?? [];
    expect(addresses).not.toEqual([]);
    for (const address of addresses) expect(isListedHost(new URL(address).hostname, { allowHosts: hosts })).toBe(true);
  }
});

test("a source needs something exactly when a tenant file that only names it cannot use it", () => {
  const { lacking } = sourceSet();
  expect(lines.filter(({ needs }) => needs.length > 0).map(({ source }) => source)).toEqual([...lacking.keys()]);
  expect(lines).toContainEqual(expect.objectContaining({ source: "oanda", needs: ["url", "authorization"] }));
});

test("the instruments are those whose built-in feeds ask the source", () => {
  const feeds = [...feedCatalogue().values()];
  for (const { source, instruments } of lines) {
    const asking = feeds.filter(({ sources }) => sources.some(({ use }) => use === source)).map(({ key }) => key);
    expect(instruments.map((code) => `pm:${code}`).toSorted()).toEqual(asking.toSorted());
  }
});

test("the table counts the instruments, and shows each host whole", async () => {
  const { stdout } = await pmctlHere(["oracle", "sources", "-o", "table"], { cwd });
  expect(stdout.split("\n")[0]).toMatch(/^SOURCE +HOSTS +NEEDS +INSTRUMENTS$/);
  expect(stdout).toMatch(/^coinbase +api\.exchange\.coinbase\.com +- +6$/m);
  expect(stdout).toMatch(/^oanda +api-fxtrade\.oanda\.com +url, authorization +24$/m);
});

test("a feed that there is not ends a check with 5 and the feed that is meant, before anything is asked or started", async () => {
  await pmctlHere(["init", "acme", "--yes"], { cwd });
  const { code, stdout, stderr } = await pmctlHere(["oracle", "check", "PM:BTC", "pm:bct"], { cwd });
  expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
  expect(stderr).toContain("There is no feed pm:bct; did you mean pm:btc?");
});
