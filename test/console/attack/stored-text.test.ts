import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import { AUDIT_TYPES } from "../../../src/domain/audit/sentence.ts";
import { CONSOLE } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { SECRET } from "../../server/support/stripe.ts";
import { type ConsolePage, openConsole, troubles } from "../support/console-page.ts";
import { freeTexts } from "./support/free-texts.ts";
import { BROKEN_OUT, FORMULA, LINE, MORE, OPEN, REVERSED, wrongWith } from "./support/hostile.ts";
import { fillWithHostile, type HostileTenant, USERS } from "./support/hostile-tenant.ts";
import { codeOf } from "./support/in-page.ts";

const tenant = tenantOfTests({ console: CONSOLE, resolution: { correctionHours: 24 }, stripeSecrets: [SECRET] });
let hostile: HostileTenant;
let opened: ConsolePage;
let page: Page;
const dialogs: string[] = [];
const lines = new Set<string>();

beforeAll(async () => {
  hostile = await fillWithHostile(tenant);
  opened = await openConsole(tenant, { viewport: { width: 1280, height: 900 } });
  ({ page } = opened);
  page.setDefaultTimeout(20_000);
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.addInitScript(`(${codeOf("traps")})()`);
  await page.goto(`${tenant.server.opsUrl}/console/`);
  await settled();
});
afterAll(() => opened?.close());

const settled = async (): Promise<void> => {
  await page.locator("main h1").waitFor();
  await page
    .locator(`html:not(:has(main [aria-busy="true"], dialog [aria-busy="true"]))`)
    .waitFor({ state: "attached" });
};
/** Moves as a click on a link does, without loading the page anew. */
const move = async (address: string): Promise<void> => {
  await page.evaluate(`{
    const link = Object.assign(document.createElement("a"), { href: ${JSON.stringify(address)} });
    document.body.append(link);
    link.click();
    link.remove();
  }`);
  await settled();
};
const look = async (where: string): Promise<void> => {
  for (const line of await page.locator("code").allTextContents()) if (line.startsWith("pmctl ")) lines.add(line);
  const found = [...(await wrongWith(page)), ...dialogs];
  expect.soft([where, ...found]).toEqual([where]);
};

const LEFT_ALONE = ["Copy", "Copied", "Download CSV", "Try again"];
/** Opens everything that the buttons of a view open, each kind once. */
const openAll = async (where: string): Promise<void> => {
  await page.evaluate('for (const each of document.querySelectorAll("main details")) each.open = true');
  const names = new Set(await page.locator("main button:enabled").allTextContents());
  for (const name of names) {
    if (LEFT_ALONE.includes(name)) continue;
    const button = page
      .locator("main button:enabled")
      .filter({ hasText: new RegExp(`^${name}$`) })
      .first();
    if (!(await button.isVisible())) continue;
    await button.click();
    const dialog = page.getByRole("dialog");
    if (!(await dialog.isVisible())) {
      await settled();
      continue;
    }
    const choice = dialog.getByRole("radio").first();
    if (await choice.isVisible()) await choice.check();
    const reason = dialog.getByRole("textbox", { name: "Reason" });
    if (await reason.isVisible()) await reason.fill(`${MORE} ' $(touch hit) ; touch hit`);
    await settled();
    await look(`${where}: ${name}`);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
  await look(`${where}, opened`);
};

/** Names of things that exist already, or else the request is refused. */
const NAMES = /\.(id|marketId|tenantId|tenant|name|source|feeds\[\]|feeds\{key\}|(names|marketStates)\[\]\.marketId)$/;

test("every field in which a request may state free text is filled by this suite, so that a new one is missed", () => {
  const fields = freeTexts(({ writes, auth }) => writes === true || auth === "signature");
  expect(fields.length).toBeGreaterThan(50);
  const missed = fields.filter((path) => !hostile.filled.has(path) && !NAMES.test(path));
  // An approval of a plan has the fields of the apply, and stores none of them.
  expect(missed.filter((path) => !path.startsWith("approvePlan."))).toEqual([]);
});

test("in every view, and in all that its buttons open, strangers' texts stand as text and move nothing", async () => {
  const views = await page
    .getByRole("navigation")
    .getByRole("link")
    .evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
  expect(views.length).toBeGreaterThan(10);
  for (const address of views) {
    await move(address);
    await look(address);
    await openAll(address);
  }
  expect(await page.locator("main").textContent()).toContain(OPEN);
});

test("a trader's and a market's page do so, whatever their names", async () => {
  for (const id of USERS) {
    const address = `/console/traders/${encodeURIComponent(id)}`;
    await move(address);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toContain(id);
    await look(address);
  }
  for (const id of hostile.markets) {
    const address = `/console/markets/${id}`;
    await move(address);
    await page.getByRole("table", { name: "Timeline" }).waitFor();
    await look(address);
    await openAll(address);
  }
});

test("each type of entry does so, and why a request was refused", async () => {
  const api = localApi(tenant.services.handlers, { actor: "cli:test" });
  for (const type of AUDIT_TYPES) {
    const { entries } = await api.listAudit({ type, limit: 1 });
    for (const { seq } of entries) {
      await move(`/console/record/${seq}`);
      await look(`/console/record/${seq} (${type})`);
    }
  }
  await move("/console/system");
  await page.getByLabel("Request-Id of the answer").fill(hostile.requestId);
  await page.getByRole("button", { name: "Why" }).click();
  await page.getByRole("region", { name: "Refused request" }).waitFor();
  await look("why");
});

test("an address that a stranger wrote does so: filters, cursors, ids and days", async () => {
  const given = (...names: string[]) =>
    new URLSearchParams(
      Object.fromEntries(names.map((name, at) => [name, [LINE, REVERSED, BROKEN_OUT][at % 3] ?? ""])),
    );
  for (const address of [
    ...[`/console/markets?${given("q", "category", "kind")}`, `/console/markets?${given("status", "cursor")}`],
    ...[`/console/traders?${given("q", "state", "cursor")}`, `/console/funds?${given("status", "days", "cursor")}`],
    ...[`/console/record?${given("q", "actor", "market", "user")}`, `/console/record?${given("type", "cursor")}`],
    ...[
      `/console/webhooks?${given("receiver", "status", "user")}`,
      `/console/webhooks?${given("delivery", "provider")}`,
      `/console/system?${given("event", "cursor")}`,
    ],
    ...[
      `/console/overview?${given("days")}`,
      `/console/configuration?${given("cursor")}`,
      "/console/%",
      "/console/a/b/c",
    ],
    ...[LINE, REVERSED, BROKEN_OUT, MORE].flatMap((text) =>
      ["markets/", "traders/", "record/", ""].map((view) => `/console/${view}${encodeURIComponent(text)}`),
    ),
  ]) {
    await move(address);
    await look(address);
  }
});

test("the palette and a notice do so, and a reason that the operator writes", async () => {
  await move("/console/traders");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).fill(OPEN);
  await page.getByRole("option").filter({ hasText: OPEN }).first().waitFor();
  await look("palette");
  await page.keyboard.press("Escape");
  for (const [address, name] of [
    [`/console/traders/${encodeURIComponent(REVERSED)}`, "Restrict"],
    [`/console/traders/${encodeURIComponent(BROKEN_OUT)}`, "Restrict"],
    [`/console/markets/${hostile.markets[2]}`, "Resume"],
  ] as const) {
    await move(address);
    await page.getByRole("button", { name, exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Reason" }).fill(LINE);
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.locator("main > [role=status]").filter({ hasText: OPEN }).waitFor();
    await look(`${address}: ${name}`);
  }
});

test("at the width of a phone nothing makes a page scroll sideways", async () => {
  await page.setViewportSize({ width: 320, height: 700 });
  for (const address of [
    ...["/console/", "/console/markets", "/console/traders", "/console/funds", "/console/record", "/console/webhooks"],
    ...["/console/configuration", "/console/system"],
    ...USERS.map((id) => `/console/traders/${encodeURIComponent(id)}`),
    ...hostile.markets.map((id) => `/console/markets/${id}`),
  ]) {
    await move(address);
    await look(`${address} at 320`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
});

test("no cell of a file is one that a spreadsheet would run", async () => {
  await move("/console/funds?status=all");
  const buttons = page.getByRole("button", { name: "Download CSV" });
  const texts: string[] = [];
  for (let at = 0; at < (await buttons.count()); at += 1) {
    const [file] = await Promise.all([page.waitForEvent("download"), buttons.nth(at).click()]);
    texts.push(await readFile(await file.path(), "utf8"));
  }
  expect(texts.length).toBeGreaterThan(2);
  expect(texts.join("\n")).toContain(FORMULA);
  const cells = texts.flatMap((text) => [...text.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,\r\n]*))/gm)]);
  const running = cells
    .map(([, quoted, plain]) => quoted ?? plain ?? "")
    .filter((cell) => /^[=+@\t\r]|^-(?![\d.]+$)/.test(cell));
  expect(running).toEqual([]);
});

test("no line for the terminal runs anything but pmctl when it is pasted into a shell", async () => {
  expect([...lines].filter((line) => line.includes(OPEN)).length).toBeGreaterThan(10);
  const place = await mkdtemp(join(tmpdir(), "pmctl-lines-"));
  const shell = ["pmctl() { printf '%s\\n' \"$#\"; }", ...lines].join("\n");
  const { stdout, stderr } = await promisify(execFile)("bash", ["--norc", "-eu", "-c", shell], { cwd: place });
  expect([stderr, await readdir(place)]).toEqual(["", []]);
  expect(stdout.trim().split("\n")).toHaveLength(lines.size);
  // What is read is what is pasted: nothing in a line is invisible, or moves what stands beside it.
  expect(
    [...lines].filter((line) => /[\p{Cc}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u.test(line)),
  ).toEqual([]);
  await rm(place, { recursive: true });
});

test("nothing complained meanwhile", () => {
  expect(troubles(opened.complaints).filter((each) => !/status of 40[04]/.test(each))).toEqual([]);
});
