import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseMarket, marketArgument, marketsIn } from "../../src/cli/market/market-choice.ts";
import { Output } from "../../src/cli/output/output.ts";
import { addressView, type DemoAddresses } from "../../src/cli/serve/demo.ts";
import { pagerCommand } from "../../src/config/environment.ts";
import type { Api } from "../../src/contract/operations.ts";
import { anyMarket } from "../support/market.ts";
import { withServer } from "../support/tenant-text.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { testIo } from "./support/io.ts";
import { operatorDirectory, pmctl, pmctlHere, shell, type TestDirectory } from "./support/pmctl.ts";

describe("the pager", () => {
  test("is PMCTL_PAGER before PAGER before less, and none when it is blanked", () => {
    expect(pagerCommand({})).toBe("less");
    expect(pagerCommand({ PAGER: "more" })).toBe("more");
    expect(pagerCommand({ PAGER: "more", PMCTL_PAGER: "less -S" })).toBe("less -S");
    for (const off of ["", "cat", " "]) expect(pagerCommand({ PAGER: "more", PMCTL_PAGER: off })).toBeUndefined();
  });
});

test("what a demo prints before it serves is written at once on a small screen: a pager would hold it up and take its Ctrl-C", async () => {
  const written: string[] = [];
  const pager = async (): Promise<boolean> => expect.unreachable("a pager");
  const sink = { isTTY: true, rows: 5, columns: 80, write: (text: string) => written.push(text) };
  const output = new Output({ stdout: sink, stderr: sink, pager });
  const curl = Array.from({ length: 30 }, (_, line) => `curl ${line}`);
  await output.print({ ...({} as DemoAddresses), crowd: [], tryNext: [], curl }, addressView);
  expect(written.join("")).toContain("curl 29");
});

describe.each(doors)("choosing a market through the %s door", (_name, open) => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await open();
    api = door.api();
  });
  afterAll(() => door.close());

  test("words of the question find it, and an id that is not listed can be typed", async () => {
    const create = (question: string) => api.createMarket(anyMarket({ question }));
    await create("Will it rain in Bern?");
    const { id } = await create("Will it snow in Bern?");
    expect(await chooseMarket(api, testIo({ answers: ["BERN snow"] }))).toBe(id);
    expect(await chooseMarket(api, testIo({ answers: [id] }))).toBe(id);
    expect(await chooseMarket(api, testIo({ answers: ["mkt_settled"] }))).toBe("mkt_settled");
  });

  test("resume offers the markets that are suspended, and only those", async () => {
    const { items } = await api.listMarkets({});
    const [first, second] = items.map(({ id }) => id);
    if (first === undefined || second === undefined) throw new Error("there are no markets");
    for (const id of [first, second]) await api.suspendMarket({ id });
    await api.resumeMarket({ id: first });
    expect((await marketsIn("suspended")(api)).map(({ id }) => id)).toEqual([second]);
    expect(await chooseMarket(api, testIo({ answers: ["bern"] }), marketsIn("suspended"))).toBe(second);
  });

  test("without anybody to ask it is refused, naming what to type", () => {
    const { check } = marketArgument("show");
    expect(() => check({ args: [], io: testIo() })).toThrow("pmctl market show <id>");
    expect(() => check({ args: ["mkt_1"], io: testIo() })).not.toThrow();
  });
});

describe("a terminal", () => {
  let directory: TestDirectory;
  beforeAll(async () => {
    directory = await operatorDirectory();
    await pmctlHere(["init", "acme"], directory);
    const file = join(directory.cwd, "tenants/acme/tenant.yaml");
    await writeFile(file, withServer(await readFile(file, "utf8")));
    expect((await pmctlHere(["apply"], directory)).code).toBe(0);
  });
  afterAll(() => directory.remove());

  /** Runs a line on a terminal of its own, 24 lines of 80 columns. */
  const onTerminal = (line: string) => {
    // The inner shell expands what the line holds, not the one that starts it.
    const quoted = JSON.stringify(`stty rows 24 cols 80; ${line}`).replaceAll("$", "\\$");
    return shell(`export TERM=xterm; script -qec ${quoted} /dev/null`, directory);
  };
  const program = `${process.execPath} ${new URL("../../src/cli/main.ts", import.meta.url).pathname}`;

  test("pages what is longer than it is, and --no-pager does not; a pager that is not there is no reason to fail", async () => {
    const long = "audit list --limit 40 -o table";
    for (let run = 0; run < 2; run++) expect((await pmctlHere(["reconcile"], directory)).code).toBe(0);
    const paged = await onTerminal(
      `PMCTL_PAGER='sed s/^/paged:/' ${program} policy show -o table; stty rows 5; PMCTL_PAGER='sed s/^/paged:/' ${program} ${long}`,
    );
    expect(paged.stdout).not.toContain("paged:feeBps");
    expect(paged.stdout).toContain("paged:");
    const plain = await onTerminal(`stty rows 5; PMCTL_PAGER='sed s/^/paged:/' ${program} ${long} --no-pager`);
    expect(plain.stdout).not.toContain("paged:");
    const missing = await onTerminal(`stty rows 5; PMCTL_PAGER=no-such-pager ${program} ${long}`);
    expect(missing.stdout).toContain("reconciled the ledger");
  });

  test("is not needed to watch: lines of JSON go down a pipe, and Ctrl-C ends it with 130", async () => {
    const watched = await pmctl(["market", "watch"], { ...directory, signal: { name: "SIGINT", at: "snapshot" } });
    expect({ code: watched.code, stderr: watched.stderr }).toEqual({ code: 130, stderr: "" });
    expect(JSON.parse(watched.stdout)).toMatchObject({ event: "snapshot", markets: [{ yesPrice: 0.4 }] });
  });

  test("gets colours, unless NO_COLOR or --no-color says otherwise; a pipe gets none", async () => {
    const dim = "\u001b[2m";
    expect((await onTerminal(`${program} policy show`)).stdout).toContain(dim);
    expect((await onTerminal(`${program} policy show --no-color`)).stdout).not.toContain(dim);
    expect((await onTerminal(`NO_COLOR=1 ${program} policy show`)).stdout).not.toContain(dim);
    expect((await onTerminal(`${program} policy show -o table | cat`)).stdout).not.toContain(dim);
  });

  test("with --no-input, and on a build server, nothing is asked: exit 6", async () => {
    for (const line of [`${program} market show --no-input`, `CI=1 ${program} policy set feeBps=1`]) {
      const { stdout } = await onTerminal(`${line}; echo "code $?"`);
      expect(stdout).toContain("code 6");
    }
  });
});
