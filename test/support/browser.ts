import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import axe from "axe-core";
import {
  type Browser,
  type BrowserContextOptions,
  type Frame,
  type Page,
  chromium as playwright,
} from "playwright-core";
import manifest from "../../package.json" with { type: "json" };
import { withLock } from "../../src/state/lock.ts";

/** Where screenshots go; git does not know it. */
export const OUTPUT = new URL("../output/", import.meta.url).pathname;

const version = manifest.devDependencies["@sparticuz/chromium"];

/**
 * What would hide the very faults that tests in a browser are for, keep pages from being isolated, or make each page dearer: a
 * program started anew for each instead of a copy of one, and three dimensions drawn by the processor.
 */
const UNWANTED = [
  ...["--disable-web-security", "--allow-running-insecure-content", "--single-process"],
  ...["--no-zygote", "--use-gl", "--use-angle", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
];

const held = globalThis as { pmctlBrowser?: Promise<Browser> };

/**
 * The Chromium of the npm package: one for a process, however many files it runs, and it ends with the process. Tests share
 * nothing in it, because each page has a context of its own. Names other than this machine do not resolve in it, so nothing goes
 * out to the network.
 */
export function openBrowser(): Promise<Browser> {
  held.pmctlBrowser ??= launch();
  return held.pmctlBrowser;
}

async function launch(): Promise<Browser> {
  const isUnwanted = (arg: string) => arg.includes("isolat") || UNWANTED.some((each) => arg.startsWith(each));
  const args = chromium.args.filter((arg) => !isUnwanted(arg)).concat("--disable-gpu", "--disable-software-rasterizer");
  return playwright.launch({
    executablePath: await extract(),
    headless: true,
    timeout: 120_000,
    args: [...args, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"],
  });
}

/** Unpacked once per version, by one process at a time; what a killed one left behind is thrown away. */
async function extract(): Promise<string> {
  const directory = `/tmp/pmctl-chromium-${version}-${process.geteuid?.() ?? 0}`;
  const complete = join(directory, "complete");
  return withLock(`${directory}.lock`, 120_000, "installing a browser", async () => {
    if (!existsSync(complete)) await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    // The package unpacks into the system's temporary directory, whatever version another project left there.
    const before = process.env.TMPDIR;
    process.env.TMPDIR = directory;
    try {
      const path = await chromium.executablePath();
      await writeFile(complete, "");
      return path;
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    }
  });
}

export interface OpenPage {
  page: Page;
  /**
   * What the page complained about: errors of scripts, of the console, of the security policy, failed requests.
   * A request that the page itself ended, as it left a view or a stream, is none.
   */
  complaints: string[];
  close(): Promise<void>;
}

/** A page in a context of its own, with its ears open. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  // A bound for what never comes; what is there is taken at once.
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`script: ${error.message}`));
  page.on("requestfailed", (request) => {
    const error = request.failure()?.errorText;
    if (error !== "net::ERR_ABORTED") complaints.push(`request: ${request.url()} ${error}`);
  });
  return { page, complaints, close: () => context.close() };
}

/**
 * What axe-core finds wrong with the page, or with one frame of it, as it stands, one line per rule and place.
 * @param place a selector of the part to look at; the whole unless given
 * @param more rules that axe leaves out unless they are asked for, such as `target-size`
 */
export async function accessibilityProblems(
  page: Page | Frame,
  place?: string,
  more: readonly string[] = [],
): Promise<string[]> {
  // Evaluated by the debugger, which the page's own policy does not bind.
  await page.evaluate(axe.source);
  const context = place === undefined ? "document" : JSON.stringify(place);
  const rules = Object.fromEntries(more.map((rule) => [rule, { enabled: true }]));
  const { violations } = (await page.evaluate(`axe.run(${context}, ${JSON.stringify({ rules })})`)) as axe.AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
  );
}
