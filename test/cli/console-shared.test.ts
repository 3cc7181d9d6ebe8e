import { afterAll, beforeAll, expect, test } from "vitest";
import { ConsoleClient } from "../server/support/console.ts";
import { closeAll, directoryWith, ended, hostOf, open, operator, secrets } from "./support/shared-server.ts";

beforeAll(async () => {
  await directoryWith("acme", "zeta", "mute");
  await operator.edit("mute", (file) => file.replace(/^server: \{/m, "server: { console: false,"));
});
afterAll(closeAll);

const url = async (tenant: string) => {
  const { exitCode, stdout } = await operator.run("console", tenant, "-o", "json");
  return exitCode === 0 ? (JSON.parse(stdout) as { url: string }).url : exitCode;
};

test("each tenant of one process has its console below /t/<tenant> on the operations port; a request opens an idle tenant", async () => {
  const { printed, port, tenants, child, answers } = await open("--idle-seconds", "2");
  const opsUrl = String(printed.opsUrl);
  expect(await url("acme")).toBe(`${opsUrl}/t/acme/console/`);
  expect(await url("mute")).toBe(7);

  const acme = new ConsoleClient(opsUrl, "/t/acme");
  // On a busy machine an opening may take longer than a request waits.
  const signedIn = async () => (await acme.signIn(secrets.ACME_ADMIN_KEY)).status;
  await expect.poll(signedIn, { interval: 250, timeout: 60_000 }).toBe(200);
  const page = await acme.get("/console/markets");
  expect(page.text).toContain('data-base="/t/acme/console"');
  const [, script = ""] = /src="([^"]+)"/.exec(page.text) ?? [];
  expect(script).toMatch(/^\/t\/acme\/console\/assets\//);
  expect((await new ConsoleClient(opsUrl).get(script)).status).toBe(200);
  expect(await acme.get("/console/api/v1/policy")).toMatchObject({ status: 200, body: { feeBps: expect.any(Number) } });
  expect((await acme.send("PUT", "/console/api/v1/policy", { body: { feeBps: 150 } })).status).toBe(200);

  // Its key and its session are worth nothing at the other tenant.
  const zeta = new ConsoleClient(opsUrl, "/t/zeta");
  const atZeta = async () => (await zeta.signIn(secrets.ACME_ADMIN_KEY)).status;
  await expect.poll(atZeta, { interval: 250, timeout: 60_000 }).toBe(401);
  Object.assign(zeta, { cookie: acme.cookie, csrf: acme.csrf });
  expect(await zeta.get("/console/api/v1/policy")).toMatchObject({ status: 401 });

  await expect
    .poll(async () => (await tenants()).map(({ state }) => state), { timeout: 60_000, interval: 100 })
    .toEqual(["idle", "idle", "idle"]);
  const again = async () => (await acme.get("/console/session")).status;
  await expect.poll(again, { interval: 250, timeout: 60_000 }).toBe(200);
  expect(await acme.get("/console/", { host: "evil.example" })).toMatchObject({ status: 403 });

  const notFound = { status: 404, body: { error: "Not found" } };
  for (const path of [
    "/console/",
    "/t/nobody/console/",
    "/t/acme",
    "/t/acme/v1/markets",
    "/t/acme/consoles",
    "/t//console/",
  ])
    expect(await new ConsoleClient(opsUrl).get(path)).toMatchObject(notFound);
  const off = async () => (await new ConsoleClient(opsUrl, "/t/mute").get("/console/")).status;
  await expect.poll(off, { interval: 250, timeout: 60_000 }).toBe(404);
  await answers(hostOf("acme"));
  for (const path of ["/console/", "/t/acme/console/"])
    expect(await new ConsoleClient(`http://127.0.0.1:${port}`).get(path, { host: hostOf("acme") })).toMatchObject(
      notFound,
    );
  expect(await ended(child)).toBe(0);
});
