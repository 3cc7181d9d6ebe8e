/**
 * Takes the README's pictures: `npm run pictures`. It serves a demo, lets its programs trade for a while, and takes the
 * playground, a market's page, the console and a plan in a terminal, in light and dark. `manifest.json` records their version, and
 * `test/house/readme-pictures.test.ts` compares it with the package's.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import type { Browser } from "playwright-core";
import manifest from "../../package.json" with { type: "json" };
import { openBrowser, openPage } from "../support/browser.ts";

const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const PICTURES = new URL("../../docs/pictures/", import.meta.url).pathname;
/** So long the demo's programs trade before the pictures are taken: curves need points. */
const TRADES_MS = 30_000;
const COLUMNS = 100;

const directory = await mkdtemp(join(tmpdir(), "pmctl-pictures-"));
const sums: Record<string, string> = {};
let demo: ChildProcess | undefined;
try {
  const browser = await openBrowser();
  await takePlan(browser, await planScreen());
  const served = await startDemo();
  const { playgroundUrl, marketUrl } = served;
  await delay(TRADES_MS);
  await take(browser, "playground", playgroundUrl, 820);
  await take(browser, "market", marketUrl, 900);
  await askForMoney(served);
  await takeToday(browser, served);
  await browser.close();
  await writeFile(
    join(PICTURES, "manifest.json"),
    `${JSON.stringify({ version: manifest.version, sha256: sums }, null, 2)}\n`,
  );
} finally {
  if (demo?.exitCode === null) {
    demo.kill("SIGINT");
    await once(demo, "exit");
  }
  await rm(directory, { recursive: true, force: true });
}

/** The screen of a plan whose change moves money. */
async function planScreen(): Promise<string> {
  const bin = join(directory, "bin");
  const program = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
  const { PATH = "", HOME = "" } = process.env;
  const env = {
    PATH: `${bin}:${PATH}`,
    HOME,
    LC_ALL: "C.UTF-8",
    NO_COLOR: "1",
    PMCTL_PAGER: "cat",
    SHELL: "/bin/bash",
  };
  // On a terminal of its own, by util-linux's `script`: a pipe would get JSON.
  const run = async (line: string) => {
    const onTerminal = `stty rows 120 cols ${COLUMNS}; ${line}`;
    const { stdout } = await execa("script", ["-qfec", onTerminal, "/dev/null"], {
      cwd: directory,
      env,
      stdin: "ignore",
    });
    return stdout.replaceAll("\r", "").trimEnd();
  };
  await mkdir(join(directory, ".pmctl"), { recursive: true });
  await mkdir(bin);
  await writeFile(join(bin, "pmctl"), program, { mode: 0o755 });
  await run("pmctl init acme --yes > init.log 2>&1; pmctl apply acme --yes > apply.log 2>&1");
  await run(
    [
      "pmctl funding credit --user alice --amount 500 --reason gift --new-user --yes > trade.log 2>&1",
      "for n in 120 240 60; do pmctl trade buy --market bern-rain --side yes --amount $n --user alice --yes >> trade.log 2>&1; done",
      "sed -i -e 's/maxTradeUsd: 500/maxTradeUsd: 100/' -e 's/feeBps: 100/feeBps: 80/' tenants/acme/tenant.yaml",
    ].join("; "),
  );
  const file = join(directory, "tenants/acme/markets/example.yaml");
  const snow = (await readFile(file, "utf8")).replace("bern-rain", "bern-snow").replace("Will it rain", "Will it snow");
  await writeFile(join(directory, "tenants/acme/markets/snow.yaml"), snow);
  const screen = await run("pmctl plan acme");
  await run("pmctl db stop > stop.log 2>&1");
  return `$ pmctl plan acme\n${screen}`;
}

interface Served {
  url: string;
  playgroundUrl: string;
  marketUrl: string;
  consoleUrl: string;
  adminKey: string;
  publicKey: string;
  userToken: string;
}

async function startDemo(): Promise<Served> {
  demo = spawn(process.execPath, [MAIN, "demo", "--port", "0", "-o", "ndjson"], {
    cwd: await mkdtemp(join(directory, "demo-")),
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(demo.stdout as NonNullable<typeof demo.stdout>, "data");
  return JSON.parse(String(line));
}

async function takePlan(browser: Browser, screen: string): Promise<void> {
  const text = screen.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const page = `<!doctype html><style>:root{color-scheme:light dark}body{margin:0;padding:24px;width:max-content;
background:light-dark(#f6f7f9,#12161b);color:light-dark(#1b1f24,#e7eaee)}pre{margin:0;font:15px/1.45 monospace}</style><pre>${text}</pre>`;
  for (const colorScheme of ["light", "dark"] as const) {
    const { page: tab, close } = await openPage(browser, { viewport: { width: 1100, height: 400 }, colorScheme });
    await tab.setContent(page);
    await keep(`plan-${colorScheme}.png`, await tab.locator("body").screenshot());
    await close();
  }
}

async function take(browser: Browser, name: string, url: string, height: number): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page, close } = await openPage(browser, { viewport: { width: 1100, height }, colorScheme });
    await page.goto(url, { waitUntil: "load" });
    await delay(3000);
    await keep(
      `${name}-${colorScheme}.jpg`,
      await page.screenshot({ animations: "disabled", type: "jpeg", quality: 85 }),
    );
    await close();
  }
}

/** Withdrawals that wait for a person. */
async function askForMoney({ url, publicKey, userToken }: Served): Promise<void> {
  const headers = { "x-api-key": publicKey, authorization: `Bearer ${userToken}`, "content-type": "application/json" };
  for (const amount of [25, 40.5, 12])
    await fetch(`${url}/v1/withdrawals`, { method: "POST", headers, body: JSON.stringify({ amount }) });
}

async function takeToday(browser: Browser, { consoleUrl, adminKey }: Served): Promise<void> {
  const { page, close } = await openPage(browser, { viewport: { width: 1100, height: 620 } });
  await page.goto(consoleUrl);
  await page.getByLabel("Admin key").fill(adminKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("table", { name: "Waiting" }).waitFor();
  // Off the row that it would mark.
  await page.mouse.move(0, 0);
  await keep("console.png", await page.screenshot({ animations: "disabled" }));
  await close();
}

async function keep(name: string, bytes: Buffer): Promise<void> {
  await writeFile(join(PICTURES, name), bytes);
  sums[name] = createHash("sha256").update(bytes).digest("hex");
  process.stdout.write(`${name} ${bytes.length} bytes\n`);
}
