import { execFileSync } from "node:child_process";
import { chownSync, lchownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { SeenValues } from "../../src/app/tenant/seen-values.ts";
import { loadEnvironment } from "../../src/config/environment.ts";
import { demoRuns } from "../../src/config/selection/operator-directory.ts";
import { directoryWith } from "./support.ts";

const STRANGER = 12345;
const seen = (markets: Record<string, number>) =>
  JSON.stringify({ refreshedAt: Date.now(), askedAt: Date.now(), values: { markets, keys: {}, users: {} } });

describe("below .pmctl", () => {
  let directory = "";
  let at = (path: string) => path;
  beforeEach(() => {
    directory = directoryWith({
      ".pmctl/demo.env": "DEMO_AUDIT_KEY=chosen\n",
      [`.pmctl/servers/demo.${process.pid}-1`]: "",
      ".pmctl/completion/acme.json": seen({ rain: Date.now(), "--yes": Date.now(), "a\u001b[2Jb": Date.now() }),
    });
    at = (path) => join(directory, ".pmctl", path);
  });

  test("what the user wrote counts, but no value that is an option or holds what a terminal obeys", () => {
    expect(loadEnvironment(directory, {})).toEqual({ DEMO_AUDIT_KEY: "chosen" });
    expect(demoRuns(directory)).toBe(true);
    expect(new SeenValues(directory, "acme").list("markets", "")).toEqual(["rain"]);
  });

  // Only root can give files away.
  test.skipIf(process.geteuid?.() !== 0)("what another user wrote decides nothing", async () => {
    for (const path of ["demo.env", "servers", "completion/acme.json"]) chownSync(at(path), STRANGER, STRANGER);
    expect(loadEnvironment(directory, {})).toEqual({});
    expect(demoRuns(directory)).toBe(false);
    expect(new SeenValues(directory, "acme").list("markets", "")).toEqual([]);
    lchownSync(at("completion"), STRANGER, STRANGER);
    new SeenValues(directory, "acme").note({ markets: ["snow"] });
    lchownSync(at("completion/acme.json"), 0, 0);
    expect(new SeenValues(directory, "acme").list("markets", "")).toEqual(["rain"]);
  });

  test("a pipe and another kind of text hold no values, and keep no shell waiting", () => {
    writeFileSync(at("completion/acme.json"), '{"values":{"markets":null,"keys":1,"users":{}}}');
    expect(new SeenValues(directory, "acme").list("markets", "")).toEqual([]);
    execFileSync("mkfifo", [at("completion/zeta.json")]);
    expect(new SeenValues(directory, "zeta").list("markets", "")).toEqual([]);
  });
});
