import { afterAll, beforeAll, expect, test } from "vitest";
import { comparedFields } from "../../src/console/views/configuration/compared.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { act, actBefore, openConsole, rowOf, troubles } from "./support/console-page.ts";

let operator: Operator;
let server: ServerProcess;
let key: string;

const done = async (...args: string[]) => {
  const { stdout, stderr, exitCode } = await operator.run(...args);
  expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
};

beforeAll(async () => {
  operator = await newOperator();
  await done("init", "acme");
  await operator.edit("acme", (text) => text.replace("maxTradeUsd: 500", "maxTradeUsd: 400"));
  await done("apply", "acme", "--yes");
  await operator.edit("acme", (text) => text.replace("maxTradeUsd: 400", "maxTradeUsd: 300"));
  await done("apply", "acme", "--yes", "--reason", "Be <b>careful</b>");
  server = await operator.serve("acme");
  key = (await operator.secrets()).ACME_ADMIN_KEY ?? "";
});
afterAll(() => operator?.close());

test("Configuration compares file and live value, shows each apply's changes, and goes back to one", async () => {
  const { page, title, complaints, close } = await openConsole({ server }, { path: "/configuration", key });
  const field = rowOf(page, "policy.maxTradeUsd");
  await field.waitFor();
  expect(await title()).toBe("Configuration");
  expect(await field.getAttribute("data-kind")).toBe("same");
  await done("policy", "set", "-t", "acme", "maxTradeUsd=250", "--reason", "A try", "--yes");
  await expect.poll(() => field.getAttribute("data-kind")).toBe("differs");
  expect((await field.locator("td").allTextContents()).slice(0, 3)).toEqual(["policy.maxTradeUsd", "300", "250"]);
  expect(await rowOf(page, "server.port").locator("td").nth(2).textContent()).toBe("as applied");
  const spans = { overrides: [], changes: [], document: { oracle: { limit: { per: 60_000 } } } } as never;
  expect(comparedFields(spans)).toContainEqual(
    expect.objectContaining({ field: "oracle.limit.per", file: "1m", live: "1m" }),
  );
  await page.emulateMedia({ media: "print" });
  await page.getByText(/^acme · \w{3} \d+, \d{4}, .* GMT\+\d$/).waitFor();
  await page.emulateMedia({ media: "screen" });
  // Who, and why.
  expect(await field.textContent()).toMatch(/admin:.*A try/);
  await page.getByText("The server does not have your files").waitFor();
  const applies = page.getByRole("table", { name: "Applies" }).locator("tbody tr");
  expect(await applies.first().textContent()).toContain("Be <b>careful</b>");
  await applies.first().getByRole("button", { name: "Show" }).click();
  await applies.first().getByText("policy.maxTradeUsd: 400 → 300").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);

  const seq = await applies.last().getAttribute("data-id");
  const back = applies.last().getByRole("button", { name: "Roll back" });
  const notice = await act(page, back, "Back to the first", async (dialog) => {
    await dialog.locator('[data-id="policy.maxTradeUsd"]').waitFor();
    expect(await dialog.locator("[data-id]").allTextContents()).toEqual(["policy.maxTradeUsd250400LOOSENS"]);
    await dialog.getByText("This loosens a protection: policy.maxTradeUsd.").waitFor();
    await dialog.getByText(/ --on-drift overwrite --accept-loosening --expect-version \d+ -t acme$/).waitFor();
    await dialog.getByText("No trade of the last 30 days would have been refused.").waitFor();
    await dialog.getByText(/^policy\.maxTradeUsd was changed live by admin:.*, entry \d+: A try$/).waitFor();
    await dialog.getByText("Only pmctl checks the rules of the tenant file.").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });
  expect(notice).toMatch(new RegExp(`^Went back to the apply ${seq}\\. Entry \\d+$`));
  await expect.poll(() => applies.count()).toBe(3);
  const [newest] = JSON.parse(await done("history", "acme", "-o", "json")) as { rollbackTo: number; reason: string }[];
  expect(newest).toMatchObject({ rollbackTo: Number(seq), reason: "Back to the first" });
  expect(JSON.parse(await done("policy", "show", "-t", "acme", "-o", "json"))).toMatchObject({ maxTradeUsd: 400 });
  // The command line finds nothing left to bring back.
  const again = ["rollback", "acme", "--to", String(seq), "--yes", "-o", "json"];
  expect(JSON.parse(await done(...again))).toMatchObject([{ changed: false }]);
  const stale = await operator.run(...again, "--expect-version", "1");
  expect([stale.exitCode, stale.stderr]).toEqual([7, expect.stringContaining("was changed since it was read")]);
  // Nor does the page.
  await back.click();
  const asked = page.getByRole("dialog");
  await asked.getByText("Nothing would change: everything is as that apply stated it.").waitFor();
  expect(await asked.getByText(/^pmctl/).textContent()).not.toContain("--accept-loosening");
  await asked.getByRole("textbox", { name: "Reason" }).fill("Again");
  expect(await asked.getByRole("button", { name: "Confirm" }).isDisabled()).toBe(true);
  await asked.getByRole("button", { name: "Cancel" }).click();
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("a dialog whose figures are outdated changes nothing, and a freeze stops rollbacks until it is lifted", async () => {
  await done("policy", "set", "-t", "acme", "maxTradeUsd=250", "--reason", "To go back from", "--yes");
  const { page, complaints, close } = await openConsole({ server }, { path: "/configuration", key });
  const applies = page.getByRole("table", { name: "Applies" }).locator("tbody tr");
  await applies.nth(1).getByRole("button", { name: "Roll back" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Reason" }).fill("Too late");
  await actBefore(page, "**/v1/config", "POST", () =>
    done("policy", "set", "-t", "acme", "maxTradeUsd=200", "--reason", "Meanwhile", "--yes"),
  );
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.getByRole("alert").waitFor();
  expect(JSON.parse(await done("policy", "show", "-t", "acme", "-o", "json"))).toMatchObject({ maxTradeUsd: 200 });
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
  const freeze = page.getByRole("button", { name: "Freeze", exact: true });
  await act(page, freeze, "Release week", (asked) => asked.getByLabel("Until").fill(tomorrow));
  await page.getByText("Release week").waitFor();
  const back = applies.last().getByRole("button", { name: "Roll back" });
  expect(await back.getAttribute("title")).toBe("The configuration is frozen: lift the freeze first.");
  await act(page, page.getByRole("button", { name: "Lift the freeze" }), "Over");
  await page.getByText("Release week").waitFor({ state: "detached" });
  expect(troubles(complaints).filter((each) => !each.includes("status of 400"))).toEqual([]);
  await close();
});

test("Change sets one limit after showing its effect, bound to the value shown; only a key with config may", async () => {
  const { page, complaints, close } = await openConsole({ server }, { path: "/configuration", key });
  const field = rowOf(page, "policy.maxTradeUsd");
  const change = page.getByRole("table", { name: "Fields" }).getByRole("button", { name: "Change" });
  await field.waitFor();
  // The yes-or-no fields and the numbers, without lists, tiers, the address and what is no policy.
  expect(await change.count()).toBe(6);
  const button = field.getByRole("button", { name: "Change" });
  const notice = await act(page, button, "Larger trades", async (dialog) => {
    await dialog.getByLabel("New value").fill("260");
    const changes = dialog.getByRole("table", { name: "Changes" }).locator("[data-id]");
    await changes.getByText("LOOSENS").waitFor();
    expect(await changes.allTextContents()).toEqual(["policy.maxTradeUsd200260LOOSENS"]);
    await dialog.getByText("No trade of the last 30 days would have been refused.").waitFor();
    await dialog.getByText(/pmctl policy set maxTradeUsd=260 --accept-loosening --expect-version \d+/).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });
  expect(notice).toMatch(/^policy\.maxTradeUsd is 260\. Entry \d+$/);
  await field.getByText("Larger trades").waitFor();
  expect(await button.evaluate((it) => it.matches(":focus"))).toBe(true);
  // A row that differed from the file, and one that did not.
  for (const [name, live, stale, wanted] of [
    ["maxTradeUsd", "260", "270", "280"],
    ["feeBps", "100", "120", "130"],
  ] as const) {
    const row = rowOf(page, `policy.${name}`);
    const result = await act(page, row.getByRole("button", { name: "Change" }), "Slowly", async (dialog) => {
      await dialog.getByLabel("New value").fill(wanted);
      await dialog.getByText(`policy.${name}${live}${wanted}`).waitFor();
      await dialog.getByRole("textbox", { name: "Reason" }).fill("Slowly");
      const set = `${name}=${stale}`;
      await actBefore(page, "**/v1/policy", "PUT", () =>
        done("policy", "set", "-t", "acme", set, "--reason", "Meanwhile", "--yes", "--accept-loosening"),
      );
      await dialog.getByRole("button", { name: "Confirm" }).click();
      await dialog.getByRole("alert").getByText("check them and confirm again").waitFor();
      await expect.poll(() => row.locator("td").nth(2).textContent()).toBe(stale);
      expect(await dialog.evaluate((it) => it.matches(":modal"))).toBe(true);
      await dialog.getByText(`policy.${name}${stale}${wanted}`).waitFor();
    });
    expect(result).toContain(`policy.${name} is ${wanted}.`);
  }
  const cap = rowOf(page, "policy.maxUserExposureUsd");
  await act(page, cap.getByRole("button", { name: "Change" }), "For the final", async (dialog) => {
    await dialog.getByLabel("New value").fill("20000");
    await dialog.getByLabel("Ends after").fill("31d");
    await dialog.getByText("Ends after is a time such as 90s, 2h or 7d: at most 30d.").waitFor();
    await dialog.getByLabel("Ends after").fill("2h");
    await dialog.getByText("This loosens a protection: policy.maxUserExposureUsd.").waitFor();
    await dialog.getByText(/ policy set maxUserExposureUsd=20000 --ttl 2h --accept-loosening /).waitFor();
  });
  await cap.locator("td").nth(4).locator("time").waitFor();
  const kyc = rowOf(page, "policy.kycReview").getByRole("button", { name: "Change" });
  await act(page, kyc, "By hand", (dialog) => dialog.getByLabel("No", { exact: true }).check());
  expect(JSON.parse(await done("policy", "show", "-t", "acme", "-o", "json"))).toMatchObject({
    ...{ maxTradeUsd: 280, feeBps: 130, kycReview: false },
  });
  expect(troubles(complaints).filter((each) => !each.includes("status of 400"))).toEqual([]);
  await close();

  const made = await done(
    "key",
    "create",
    "reader",
    "--type",
    "admin",
    "-t",
    "acme",
    "--scopes",
    "config:read",
    "--yes",
    "-o",
    "json",
  );
  const reader = await openConsole({ server }, { path: "/configuration", key: JSON.parse(made).key });
  const barred = rowOf(reader.page, "policy.feeBps").getByRole("button", { name: "Change" });
  await barred.waitFor();
  expect(await barred.isDisabled()).toBe(true);
  expect(await barred.getAttribute("title")).toBe("Your key lacks the scope config.");
  await reader.close();
});

test("where several actors must agree, the first one's rollback agrees, and another's goes back", async () => {
  await operator.edit("acme", (text) => `${text}\napprovals: { apply: { approvals: 2 }, loosen: { approvals: 2 } }\n`);
  await done("apply", "acme", "--yes", "--on-drift", "overwrite", "--accept-loosening");
  const { page, complaints, close } = await openConsole({ server }, { path: "/configuration", key });
  const applies = page.getByRole("table", { name: "Applies" }).locator("tbody tr");
  const seq = (await applies.last().getAttribute("data-id")) ?? "";
  const back = ["rollback", "acme", "--to", seq, "--yes", "--on-drift", "overwrite", "--accept-loosening"];
  const refused = await operator.run(...back, "--via", "db");
  expect([refused.exitCode, refused.stderr]).toEqual([3, expect.stringContaining("pmctl rollback --approve")]);
  const button = applies.last().getByRole("button", { name: "Roll back" });
  const notice = await act(page, button, "Two of us", async (dialog) => {
    await dialog.getByText("2 actors must agree. So far: none.").waitFor();
    await dialog.getByText(`pmctl rollback --to ${seq} --approve`).waitFor();
  });
  expect(notice).toContain("Another actor must, too.");
  const change = rowOf(page, "policy.maxTradeUsd").getByRole("button", { name: "Change" });
  const proposed = await act(page, change, "More", async (dialog) => {
    await dialog.getByLabel("New value").fill("900");
    await dialog.getByText("Becomes a proposal: 2 actors must agree before it holds.").waitFor();
  });
  expect(proposed).toMatch(/^Proposed as prp_\w+: another person must approve the change of policy\.maxTradeUsd\./);
  expect(JSON.parse(await done(...back, "--via", "db", "-o", "json"))).toMatchObject([{ changed: true }]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});
