import { once } from "node:events";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";

/**
 * Another user's process of this machine that answers like the tenant's server, on both of its ports: the tenant's name,
 * the id of its audit key, and an empty list to everything else.
 */
class Impostor {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #livez: string;
  seen = "";

  constructor(keyId: string) {
    const body = JSON.stringify({ ok: true, tenant: "acme" });
    this.#livez = answer(body, `audit-key-id: ${keyId}\r\napi-scheme: http\r\n`);
  }

  async listen(port = 0): Promise<number> {
    const server = createServer((socket) => {
      this.#sockets.add(socket.on("error", () => {}));
      socket.on("data", (chunk) => {
        const text = chunk.toString("latin1");
        this.seen += text;
        socket.write(text.startsWith("GET /livez ") ? this.#livez : answer("[]"));
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

const answer = (body: string, headers = "") =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;

let operator: Operator;
let secrets: Record<string, string>;
let impostor: Impostor;
/** What the tenant file says. */
let [port, opsPort] = [0, 0];
let market = "";
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  secrets = await operator.secrets();
  impostor = new Impostor(auditKey(secrets.ACME_AUDIT_KEY ?? "").id);
  [port, opsPort] = [await impostor.listen(), await impostor.listen()];
  const lines = ["kyc: { required: false }", `server: { port: ${port}, opsPort: ${opsPort} }`];
  await operator.edit(
    "acme",
    (text) => `${withRateLimit(text.replace('blocked: ["US"]', "blocked: []"), 100_000)}${lines.join("\n")}\n`,
  );
  expect((await operator.run("apply", "acme")).exitCode).toBe(0);
  const words = "--question Soon? --category x --kind cpmm --p0 0.5 --close-at 2096-01-01T00:00:00Z".split(" ");
  const { stdout, stderr } = await operator.run("market", "create", ...words, "--resolution-ref", "hand", "-o", "json");
  expect(stderr).toContain(note());
  market = JSON.parse(stdout).id;
});
afterAll(async () => {
  await impostor?.close();
  await operator?.close();
});

const note = (at = port) => `the process at 127.0.0.1:${at} is not proven to be the server of acme`;

/** Of every request that it saw, nothing but where it asked who is there. */
function expectNothingShown(): void {
  const requests = impostor.seen.split(/(?=^(?:GET|POST|PUT|DELETE) )/m).filter((text) => text !== "");
  for (const request of requests) expect(request).toMatch(/^GET (\/livez|\/\.well-known\/pmctl-proof\/[\w-]{43}) /);
  for (const secret of Object.values(secrets)) expect(impostor.seen).not.toContain(secret);
  expect(impostor.seen).not.toMatch(/x-api-key|authorization|cookie|signature|\r\n\r\n[^G]|mkt_|usr_|eyJ/i);
}

const COMMANDS = (): string[][] => [
  ["market", "list"],
  ["policy", "set", "maxTradeUsd=400", "--yes"],
  ["key", "create", "--type", "public", "--name", "app"],
  ["funding", "credit", "--user", "usr_1", "--amount", "50", "--reason", "opening", "--yes"],
  ["user", "token", "usr_1"],
  ["trade", "place", "--market", market, "--side", "yes", "--amount", "5", "--user", "usr_1", "--yes"],
  ["position", "list", "--user", "usr_1"],
  ["market", "suspend", market],
  ["plan", "--on-drift", "adopt"],
  ["apply", "--yes", "--on-drift", "adopt"],
  ["reconcile"],
  ["why", "trd_0123456789abcdef01234567"],
  ["market", "settle", market, "--outcome", "yes", "--yes"],
];

describe("a process that answers at the tenant's ports with its name and the id of its key", () => {
  beforeEach(() => {
    impostor.seen = "";
  });

  test("is shown no key, token or body by any command, which says so and goes to the database", async () => {
    for (const words of COMMANDS()) {
      const { exitCode, stderr } = await operator.run(...words);
      const said = words[0] === "user" ? "" : `${note()}: going straight to the database`;
      expect([words, exitCode === 0 || words[0] === "why", stderr.includes(said)]).toEqual([words, true, true]);
    }
    expectNothingShown();
    expect(impostor.seen).toContain("GET /livez");
  });

  test("is refused by --via http with 9, and by the webhook that goes over HTTP alone", async () => {
    const overHttp = COMMANDS().filter(([noun]) => noun !== "user");
    for (const words of [...overHttp.slice(0, 3), ["plan"], ["market", "watch"]]) {
      const { exitCode, stderr, stdout } = await operator.run(...words, "--via", "http", "-o", "json");
      expect([exitCode, stdout, JSON.parse(stderr)]).toMatchObject([9, "", { error: note(), code: "SERVER_UNPROVEN" }]);
    }
    for (const via of ["auto", "http"]) {
      const sent = await operator.run("webhook", "send", "kyc.passed", "--set", "userId=usr_1", "--via", via);
      expect(sent).toMatchObject({ exitCode: 9, stderr: expect.stringContaining(note()) });
    }
    expectNothingShown();
  });

  test("is named by doctor, which asks it for nothing", async () => {
    const { stdout } = await operator.run("doctor", "acme", "-o", "json");
    expect(JSON.parse(stdout).checks).toContainEqual(
      expect.objectContaining({ check: "server", status: "warn", found: note() }),
    );
    expectNothingShown();
  });

  test("is shown nothing by the fleet's commands where fleet.yaml states its address", async () => {
    const file = join(operator.directory, "fleet.yaml");
    for (const host of ["127.0.0.1", "acme.localhost"]) {
      const waves = 'waves: [{ name: all, tenants: ["*"] }]';
      await writeFile(file, `version: 1\ntenants: { acme: { url: "http://${host}:${port}" } }\n${waves}\n`);
      for (const [words, code] of [
        ["plan", 9],
        ["drift", 9],
        ["apply --yes", 3],
      ] as const) {
        const { exitCode, stdout, stderr } = await operator.run("fleet", ...words.split(" "), "-o", "json");
        expect([words, exitCode, (stdout + stderr).includes("is not proven to be the server of acme")]).toEqual([
          words,
          code,
          true,
        ]);
      }
    }
    await rm(file);
    expect(impostor.seen).toBe("");
  });

  test("is not reached by a variable without https, nor by a server.host elsewhere without TLS: 6", async () => {
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
  const runFile = async () => {
    const folder = join(operator.directory, ".pmctl", "servers");
    const [name = ""] = await readdir(folder);
    return join(folder, name);
  };

  test("is proven while it runs; its secret is in its run file and nowhere else", async () => {
    impostor.seen = "";
    const server = await operator.serve("acme");
    const { secret, url } = JSON.parse(await readFile(await runFile(), "utf8"));
    const found = await operator.run("market", "list", "--via", "http", "-o", "json");
    expect(found).toMatchObject({ exitCode: 0, stderr: "" });
    await writeFile(
      join(operator.directory, "fleet.yaml"),
      `version: 1\ntenants: { acme: { url: "http://localhost:${new URL(url).port}" } }\nwaves: [{ name: all, tenants: [acme] }]\n`,
    );
    const planned = await operator.run("fleet", "plan", "-o", "json");
    expect(JSON.parse(planned.stdout).totals).toMatchObject({ tenants: 1, refused: 0, unreachable: 0 });
    const commandLine = await readFile(`/proc/${server.child.pid}/cmdline`, "latin1").catch(() => "");
    const environment = await readFile(`/proc/${server.child.pid}/environ`, "latin1").catch(() => "");
    const said = await Promise.all(
      ["/livez", "/readyz", "/metrics"].map(async (path) => (await fetch(server.opsUrl + path)).text()),
    );
    expect([commandLine, environment, server.errors(), ...said].join()).not.toContain(secret);
    expect(secret).toMatch(/^[\w-]{43}$/);

    // What the run file says is believed of no other address, even one that passes everything on to the server itself.
    const relay = createServer((socket) => {
      socket
        .pipe(connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {}))
        .pipe(socket.on("error", () => {}));
    });
    relay.listen(0, "127.0.0.1");
    await once(relay, "listening");
    const relayPort = (relay.address() as AddressInfo).port;
    const file = await runFile();
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(url, `http://127.0.0.1:${relayPort}`));
    const relayed = await operator.run("market", "list", "--via", "http");
    expect(relayed).toMatchObject({ exitCode: 9, stderr: expect.stringContaining(note(relayPort)) });
    relay.close();
    await writeFile(file, text);
    expect(await operator.run("market", "list", "--via", "http", "-o", "json")).toEqual(found);

    // Killed, with its file left and its pid in use again, its port taken.
    await server.kill("SIGKILL");
    await writeFile(file, text.replace(/"pid":\d+/, `"pid":${process.pid}`));
    await impostor.listen(Number(new URL(url).port));
    const taken = await operator.run("market", "list", "-o", "json");
    expect(taken).toMatchObject({ exitCode: 0, stdout: found.stdout });
    expect(taken.stderr).toContain(note(Number(new URL(url).port)));
    expectNothingShown();
    await rm(file);
  });
});
