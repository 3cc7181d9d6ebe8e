import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { MAIN, operatorDirectory, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

interface Printed {
  url: string;
  playgroundUrl: string;
  marketUrl: string;
  settlingUrl: string;
  adminKey: string;
  crowd: string[];
  curl: string[];
  tryNext: string[];
}

let directory: TestDirectory;
let demo: ChildProcess;
let printed: Printed;

/** A demo as it is started by hand. */
beforeAll(async () => {
  directory = await operatorDirectory();
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  demo = spawn(process.execPath, [MAIN, "demo", "--port", "0", "-o", "ndjson"], {
    cwd: directory.cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(demo.stdout as NonNullable<typeof demo.stdout>, "data");
  printed = JSON.parse(String(line));
}, 120_000);
afterAll(async () => {
  demo?.kill("SIGKILL");
  await directory?.remove();
});

const ask = (path: string) => fetch(printed.url + path, { headers: { "x-api-key": printed.adminKey } });

interface Entry {
  seq: number;
  actor: string;
}
async function tradesOf(actors: readonly string[]): Promise<Entry[]> {
  const { entries } = (await (await ask("/v1/audit?type=trade.executed&limit=200")).json()) as { entries: Entry[] };
  return entries.filter(({ actor }) => actors.includes(actor));
}

describe("a demo that serves", () => {
  test("prints three lines that work as pasted", async () => {
    expect(printed.curl).toHaveLength(3);
    const answers = [];
    for (const line of printed.curl) answers.push(JSON.parse((await execa("sh", ["-c", line])).stdout));
    expect(answers[0].length).toBeGreaterThan(2);
    expect(answers[1]).toMatchObject({ amount: 5, side: "yes" });
    expect(answers[2]).toMatchObject({ ok: true, discrepancy: 0 });
  });

  test("has traders of its own, who keep trading without a request against the visitor's minute", async () => {
    const actors = printed.crowd.map((name) => `user:${name}`);
    expect(actors).toHaveLength(3);
    const left = async () => Number((await ask("/health")).headers.get("ratelimit-remaining"));
    const before = await left();
    let asked = 1;
    const seen = await tradesOf(actors);
    const now = () => {
      asked += 1;
      return tradesOf(actors);
    };
    await expect.poll(async () => (await now()).length, { interval: 200 }).toBeGreaterThanOrEqual(seen.length + 2);
    // A window may have begun anew meanwhile; then more is left than there was.
    expect(await left()).toBeGreaterThanOrEqual(before - asked - 1);
  });

  test("names them as programs on its page", async () => {
    const page = await (await fetch(printed.playgroundUrl)).text();
    expect(page).toMatch(/The programs <b>carol<\/b>.*play money/);
  });

  test("prints the addresses of the documents and of two markets; the oracle settles one of them within two minutes", async () => {
    const pages = [printed.marketUrl, printed.settlingUrl, `${printed.url}/docs`];
    expect(await Promise.all(pages.map(async (page) => (await fetch(page)).status))).toEqual([200, 200, 200]);
    const market = await (await ask(`/v1/markets/${printed.settlingUrl.split("/").at(-1)}`)).json();
    expect(market).toMatchObject({ resolutionRef: expect.stringMatching(/^pm:btc > \d+$/) });
    expect(Date.parse((market as { closeAt: string }).closeAt) - Date.now()).toBeLessThan(110_000);
  });

  test("names the address where it runs in its documents, on its page and in a snippet", async () => {
    const { stdout } = await pmctlHere(["embed", "snippet", "-o", "json"], directory);
    expect(JSON.parse(stdout).scriptUrl).toBe(`${printed.url}/assets/v1/embed.js`);
    const [docs, embed, play] = await Promise.all(
      ["/docs/markets", "/docs/embed", "/playground"].map(async (path) => (await fetch(printed.url + path)).text()),
    );
    expect(docs).toContain(`curl ${printed.url}/v1/markets`);
    expect(embed).toContain(`${printed.url}/assets/v1/embed.js`);
    expect(play).toContain(`"origin":"${printed.url}"`);
    expect(`${docs}${embed}${play}`).not.toContain("127.0.0.1:8080");
  });

  test("gives the doctor nothing to say", async () => {
    const { stdout } = await pmctlHere(["doctor", "-o", "json"], directory);
    const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string }[] };
    expect(checks.filter(({ status }) => status !== "ok" && status !== "skipped")).toEqual([]);
  });

  test("is found by commands in the same directory, and prints three of them", async () => {
    expect(printed.tryNext).toHaveLength(3);
    const found = [];
    for (const line of printed.tryNext) {
      const [program, ...words] = line.split(" ");
      // Straight to the database, because the visitor's requests of this minute may be used up.
      const { code, stdout, stderr } = await pmctlHere([...words, "--via", "db", "-o", "json"], directory);
      found.push({ program, code: words[0] === "doctor" ? 0 : code, stderr, is: typeof JSON.parse(stdout) });
    }
    const well = { program: "pmctl", code: 0, stderr: expect.not.stringContaining("tenant"), is: "object" };
    expect(found).toEqual([well, well, well]);
    expect(await pmctlHere(["tenant", "list", "--fields", "tenant", "-o", "csv"], directory)).toMatchObject({
      stdout: "tenant\r\ndemo\r\n",
    });
  });

  test("ends with 130 on Ctrl-C, also one that npm passes on once more, and leaves no process behind", async () => {
    demo.kill("SIGINT");
    demo.kill("SIGTERM");
    const [code] = await once(demo, "exit");
    expect(code).toBe(130);
    expect((await embeddedCluster(directory.cwd).status()).running).toBe(false);
  });
});
