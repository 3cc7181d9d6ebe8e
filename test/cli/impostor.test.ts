import { once } from "node:events";
import { readdir, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";
import { withRateLimit, withServer } from "../support/tenant-text.ts";

/** Another user's process of this machine that answers like the tenant's server, on both of its ports. */
class Impostor {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  seen = "";

  async listen(port = 0): Promise<number> {
    const server = createServer((socket) => {
      this.#sockets.add(socket.on("error", () => {}));
      socket.on("data", (chunk) => {
        const text = chunk.toString("latin1");
        this.seen += text;
        socket.write(answer(text.startsWith("GET /livez ") ? JSON.stringify({ ok: true, tenant: "acme" }) : "[]"));
      });
    });
    this.#servers.push(server);
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => server.listening && once(server.close(), "close")));
  }
}

const answer = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

let operator: Operator;
let impostor: Impostor;
/** What the tenant file says. */
let [port, opsPort] = [0, 0];
let market = "";
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  impostor = new Impostor();
  [port, opsPort] = [await impostor.listen(), await impostor.listen()];
  const lines = ["sandbox: true", "kyc: { required: false }"];
  await operator.edit("acme", (text) =>
    withServer(
      `${withRateLimit(text.replace('blocked: ["US"]', "blocked: []"), 100_000)}${lines.join("\n")}`,
      `port: ${port}, opsPort: ${opsPort}`,
    ),
  );
  expect((await operator.run("apply", "acme")).exitCode).toBe(0);
  const words = "--question Soon? --category x --kind cpmm --p0 0.5 --close-at 2096-01-01T00:00:00Z".split(" ");
  const { stdout } = await operator.run("market", "create", ...words, "--resolution-ref", "hand", "-o", "json");
  market = JSON.parse(stdout).id;
});
afterAll(async () => {
  await impostor?.close();
  await operator?.close();
});

const COMMANDS = (): string[][] => [
  ["market", "list"],
  ["policy", "set", "maxTradeUsd=400", "--yes"],
  ["key", "create", "--type", "public", "--name", "app"],
  ["funding", "credit", "--user", "usr_1", "--amount", "50", "--reason", "opening", "--new-user", "--yes"],
  ["user", "token", "usr_1"],
  ["trade", "place", "--market", market, "--side", "yes", "--amount", "5", "--user", "usr_1", "--yes"],
  ["position", "list", "--user", "usr_1"],
  ["market", "suspend", market],
  ["plan", "--on-drift", "adopt"],
  ["apply", "--yes", "--on-drift", "adopt"],
  ["reconcile"],
  ["why", "trd_0123456789abcdef01234567"],
  ["market", "settle", market, "--outcome", "yes", "--reason", "test", "--early", "--yes"],
];

describe("a process that answers at the tenant's ports", () => {
  beforeEach(() => {
    impostor.seen = "";
  });

  test("is asked for nothing by any command, which goes to the database without a word", async () => {
    for (const words of COMMANDS()) {
      const { exitCode, stderr } = await operator.run(...words);
      expect([words, exitCode === 0 || words[0] === "why", stderr.includes("database")]).toEqual([words, true, false]);
    }
    expect(impostor.seen).toBe("");
  });

  test("is no server for --via http, which ends with 9, nor for the webhook that goes over HTTP alone", async () => {
    const overHttp = COMMANDS().filter(([noun]) => noun !== "user");
    for (const words of [...overHttp.slice(0, 3), ["plan"], ["market", "watch"]]) {
      const { exitCode, stderr, stdout } = await operator.run(...words, "--via", "http", "-o", "json");
      expect([exitCode, stdout, JSON.parse(stderr)]).toMatchObject([9, "", { code: "UNREACHABLE" }]);
    }
    for (const via of ["auto", "http"])
      expect(await operator.run("webhook", "send", "kyc.passed", "--set", "userId=usr_1", "--via", via)).toMatchObject({
        exitCode: 9,
      });
    expect(impostor.seen).toBe("");
  });

  test("is shown nothing where fleet.yaml or a variable states its address, or a server.host elsewhere without TLS", async () => {
    const file = join(operator.directory, "fleet.yaml");
    const waves = 'waves: [{ name: all, tenants: ["*"] }]';
    await writeFile(file, `version: 1\ntenants: { acme: { url: "http://127.0.0.1:${port}" } }\n${waves}\n`);
    const { exitCode, stdout, stderr } = await operator.run("fleet", "plan", "-o", "json");
    expect([exitCode, stdout + stderr]).toEqual([6, expect.stringContaining("must begin with https://")]);
    await rm(file);
    for (const url of [`http://127.0.0.1:${port}`, "http://192.0.2.1"]) {
      const ended = await operator.runWith({ PMCTL_URL_ACME: url }, "market", "list");
      expect(ended).toMatchObject({ exitCode: 6, stderr: expect.stringContaining("PMCTL_URL_ACME must begin with") });
    }
    await operator.edit("acme", (text) => text.replace("server: { ", "server: { host: 192.0.2.1, "));
    try {
      for (const words of [["market", "list"], ["apply"], ["webhook", "send", "kyc.passed"]]) {
        const { exitCode, stderr } = await operator.run(...words);
        expect([exitCode, stderr]).toEqual([6, expect.stringMatching(/tenant\.yaml:\d+:\d+ {2}server\.host/)]);
      }
      expect(await operator.run("market", "list", "--via", "db")).toMatchObject({ exitCode: 0 });
    } finally {
      await operator.edit("acme", (text) => text.replace("host: 192.0.2.1, ", ""));
    }
    expect(impostor.seen).toBe("");
  });
});

describe("a server of this directory", () => {
  test("is reached past hosts, networks of keys and counts of addresses; killed, it is passed by at once", async () => {
    const hosts = "hosts: [predict.acme.example], adminHosts: [predict.acme.example]";
    await operator.edit("acme", (text) =>
      text.replace("perMinute: 100000", "perMinute: 1").replace("server: { ", `server: { ${hosts}, `),
    );
    const server = await operator.serve("acme");
    const overHttp = (...words: string[]) => operator.run(...words, "--via", "http", "-o", "json");
    for (let n = 0; n < 5; n += 1) expect(await overHttp("market", "list")).toMatchObject({ exitCode: 0, stderr: "" });
    const made = await overHttp("key", "create", "--type", "admin", "--name", "far", "--from", "192.0.2.0/24");
    expect(made).toMatchObject({ exitCode: 0 });
    // Over TCP none of this holds.
    const direct = await fetch(`${server.url}/v1/keys`, { headers: { "x-api-key": JSON.parse(made.stdout).key } });
    expect(direct.status).toBe(404);
    await server.kill("SIGKILL");
    expect(await readdir(join(operator.directory, ".pmctl", "servers"))).toHaveLength(1);
    await impostor.listen(Number(new URL(server.url).port));
    impostor.seen = "";
    expect(await operator.run("market", "list", "-o", "json")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await overHttp("market", "list")).toMatchObject({ exitCode: 9 });
    expect(impostor.seen).toBe("");
  });
});
