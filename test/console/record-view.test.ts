import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAnchors } from "../../src/app/audit/anchors-in-file.ts";
import { localApi } from "../../src/client/local-api.ts";
import { signAnchor } from "../../src/domain/audit/anchor.ts";
import { appendAnchor, appendToDirectory } from "../../src/services/anchors/anchor-file.ts";
import { HOSTILE_REASON, openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { focusedTag, openConsole, rowOf, troubles } from "./support/console-page.ts";

const directory = await mkdtemp(join(tmpdir(), "pmctl-record-"));
afterAll(() => rm(directory, { recursive: true }));
const tenant = tenantOfTests({ console: CONSOLE, anchors: { directory, files: [join(directory, "kept.ndjson")] } });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:ops" });

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  for (const id of ["mkt_1", "mkt_2"])
    await openHeld(tenant, id, `Will ${id} <img src=x onerror=alert(1)> open?`, "usr_1");
  await operator().voidMarket({ id: "mkt_1", reason: HOSTILE_REASON });
});

test("the log is filtered in the address, shows new entries by itself, and leads to each one", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/record?type=market.voided" });
  const table = page.getByRole("table", { name: "Entries" });
  const { entries } = await operator().listAudit({ type: "market.voided" });
  await table.waitFor();
  expect(
    await table.locator("[data-id]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id"))),
  ).toEqual(entries.map(({ seq }) => String(seq)));
  expect(await page.locator("code").last().textContent()).toBe("pmctl audit list --type market.voided -t acme");
  await page.getByLabel("Type").selectOption("");
  await page.getByRole("searchbox", { name: "Market" }).fill("mkt_2");
  await expect.poll(() => new URL(page.url()).search).toBe("?market=mkt_2");
  await page.reload();
  await expect.poll(() => table.locator("[data-kind]").count()).toBe(2);
  await operator().suspendMarket({ id: "mkt_2" });
  await rowOf(page, String((await operator().listAudit({ type: "market.suspended" })).entries[0]?.seq)).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await table.getByRole("link").first().click();
  await page.getByRole("heading", { level: 1, name: /^Entry \d+$/ }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByRole("heading", { level: 1, name: "Record" }).waitFor();
  await expect.poll(() => focusedTag(page)).toBe("H1");
  await page.keyboard.press("/");
  await page.keyboard.type("nothing is like this");
  await page.getByText("No entry is like this").waitFor();
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("new entries above do not push what a person reads, who scrolled down", async () => {
  const { page, close } = await openConsole(tenant, { path: "/record", viewport: { width: 1000, height: 300 } });
  const [newest, , , read] = (await operator().listAudit({})).entries.map(({ seq }) => rowOf(page, String(seq)));
  const placeOf = () => read?.evaluate((row) => Math.round(row.getBoundingClientRect().top));
  await read?.evaluate((row) => row.scrollIntoView());
  const place = await placeOf();
  await tenant.deposit("usr_1", 1);
  await expect.poll(() => newest?.evaluate((row) => row.previousElementSibling !== null)).toBe(true);
  await expect.poll(placeOf).toBe(place);
  await close();
});

test("a time within a sentence is in the operator's zone, with UTC on hover; what is no time stays as it is written", async () => {
  const until = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 86_400_000);
  const noTimes = "not 2026-13-45T99:99Z, nor 2026-02-30 10:00Z";
  await operator().freezeConfig({ until: until.toISOString(), reason: noTimes });
  const { seq = 0 } = (await operator().listAudit({ type: "config.frozen" })).entries[0] ?? {};
  await operator().unfreezeConfig({});
  const { page, close } = await openConsole(tenant, { path: "/record?type=config.frozen" });
  const zone = { dateStyle: "medium", timeStyle: "short", timeZone: "Europe/Zurich" } as const;
  const sentence = `admin:ops froze the configuration until ${until.toLocaleString("en-US", zone)}: "${noTimes}"`;
  const told = rowOf(page, String(seq)).locator("bdi").first();
  expect(await told.textContent()).toBe(sentence);
  expect(await told.locator("time").getAttribute("datetime")).toBe(until.toISOString());
  expect(await told.locator("time").getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:00 UTC$/);
  await page.goto(`${tenant.server.opsUrl}/console/record/${seq}`);
  await page.getByRole("main").locator("p:not([role]) > time").waitFor();
  await close();
});

test("an entry tells its payload and its place in the chain; what strangers wrote is only text", async () => {
  const [voided] = (await operator().listAudit({ type: "market.voided" })).entries;
  const seq = voided?.seq ?? 0;
  const { page, title, complaints, close } = await openConsole(tenant, { path: `/record/${seq}` });
  await page.getByText(String(voided?.hash)).waitFor();
  expect(await title()).toBe(`Entry ${seq}`);
  expect(await page.title()).toMatch(new RegExp(`Entry ${seq}$`));
  expect(JSON.parse((await page.locator("pre").textContent()) ?? "")).toEqual(voided?.payload);
  expect(await page.getByRole("link", { name: "mkt_1" }).getAttribute("href")).toBe("/console/markets/mkt_1");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download the receipt" }).click();
  const receipt = await (await saving).path();
  expect(await readAnchors(receipt, { tenant: "acme", keys: [], note: () => {} })).toMatchObject([
    { seq: BigInt(seq), hash: voided?.hash, ts: voided?.ts },
  ]);
  await page.getByText(`pmctl audit verify --anchor acme-entry-${seq}.ndjson -t acme`, { exact: true }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole("link", { name: `Entry ${seq - 1}` }).click();
  await expect.poll(title).toBe(`Entry ${seq - 1}`);
  await page.goto(`${tenant.server.opsUrl}/console/record/1`);
  await page.getByRole("link", { name: "Entry 2" }).waitFor();
  await page.goto(`${tenant.server.opsUrl}/console/record/999999`);
  await page.getByText("The audit log has no entry 999999").waitFor();
  expect(await page.getByRole("status").filter({ hasText: "As of" }).locator("time").count()).toBe(1);
  await page.goto(`${tenant.server.opsUrl}/console/record/abc`);
  await page.getByRole("heading", { name: "Not found", level: 1 }).waitFor();
  expect(troubles(complaints).filter((each) => !each.includes("status of 404"))).toEqual([]);
  await close();
});

test("anchors are listed with where they are kept and whether the log still has their entries", async () => {
  const key = tenant.services.auditKey;
  const [voided] = (await operator().listAudit({ type: "market.voided" })).entries;
  const { seq = 0, hash = "", ts = "" } = voided ?? {};
  const held = signAnchor("acme", { seq: BigInt(seq), hash, ts }, key);
  await appendToDirectory(directory, held, [key]);
  await appendAnchor(join(directory, "kept.ndjson"), held);
  await appendAnchor(join(directory, "kept.ndjson"), { ...held, signature: "00" });
  const { page, complaints, close } = await openConsole(tenant, { path: "/record" });
  await page.getByText("Ignored: kept.ndjson:2 has a bad signature").waitFor();
  const anchors = page.getByRole("region", { name: "Anchors" });
  await anchors.locator("summary").click();
  const rows = page.getByRole("table", { name: "Anchors" }).locator("tbody tr");
  const row = rows.filter({ hasText: `Entry ${seq}` });
  const places = "anchored in .pmctl/anchors/acme.ndjson; anchored in kept.ndjson";
  await row.getByText(places).waitFor();
  expect(await row.getAttribute("data-kind")).toBe("held");
  const lost = signAnchor("acme", { seq: BigInt(seq + 1000), hash: "f".repeat(64), ts }, key);
  await appendAnchor(join(directory, "kept.ndjson"), lost);
  await page.reload();
  // What contains a missing one is open.
  await rows.first().getByText("missing: the log was set back or changed").waitFor();
  expect((await operator().listAnchors({})).anchors[0]).toEqual({
    ...{ seq: seq + 1000, hash: "f".repeat(64), ts, standing: "missing", places: ["anchored in kept.ndjson"] },
  });
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await rm(join(directory, "kept.ndjson"));
  expect((await operator().listAnchors({})).anchors.map(({ standing }) => standing)).not.toContain("missing");
  await close();
});

test("the log is verified and the ledger reconciled at the press of a button; what disagrees is shown with its places", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/record" });
  await page.getByRole("button", { name: "Verify now" }).click();
  await page.getByText(/The chain of all \d+ entries holds/).waitFor();
  await page.getByRole("progressbar").waitFor();
  await page.getByRole("button", { name: "Reconcile" }).click();
  await page.getByText("The ledger agrees with itself and with the log.").waitFor();
  expect(await page.getByRole("table", { name: "Checks" }).locator("[data-id]").count()).toBe(
    (await operator().explainLedger({})).length,
  );
  await page.getByText("Each comparison is recorded in the log").waitFor();
  const [recorded] = (await operator().listAudit({ type: "reconcile.run", limit: 1 })).entries;
  expect(recorded?.actor).toBe("admin:ops");
  expect(await accessibilityProblems(page)).toEqual([]);
  await tenant.backend.sql`update account set balance_micro = balance_micro + 1000000 where id = 'wallet:usr_1'`;
  await page.getByRole("button", { name: "Reconcile" }).click();
  await page.getByText("The ledger disagrees by").waitFor();
  await page.getByText("disagrees", { exact: true }).first().waitFor();
  expect(troubles(complaints)).toEqual([]);
  await close();
});
