import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { engineProblem } from "../../src/postgres/engine.ts";
import { newOperator, type Operator } from "../support/operator.ts";

describe("an engine is recognised by the text of its version", () => {
  test.each([
    "PostgreSQL 15.3 (Debian 15.3-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit",
    "PostgreSQL 18.4 on x86_64-pc-linux-gnu, compiled by gcc (Ubuntu 7.5.0-3ubuntu1~18.04) 7.5.0, 64-bit",
    "PostgreSQL 18beta1 on aarch64-unknown-linux-gnu, compiled by clang",
    "PostgreSQL 17rc1, compiled by Visual C++ build 1914, 64-bit",
    "PostgreSQL 19devel on x86_64-pc-linux-gnu",
    // EnterpriseDB's, Percona's and Aurora's are PostgreSQL's own code.
    "PostgreSQL 15.4 (EnterpriseDB Advanced Server 15.4.0) on x86_64-pc-linux-gnu, compiled by gcc",
    "PostgreSQL 16.2 - Percona Distribution on x86_64-pc-linux-gnu, compiled by gcc",
    "PostgreSQL 15.4 on aarch64-unknown-linux-gnu, compiled by aarch64-unknown-linux-gnu-gcc (GCC) 9.5.0, 64-bit",
  ])("%s is one to trade on", (version) => {
    expect(engineProblem(version)).toBeUndefined();
  });

  test.each([
    ["PostgreSQL 14.9 on x86_64-pc-linux-gnu", "PostgreSQL 14.9,"],
    ["PostgreSQL 9.6.24 on x86_64-pc-linux-gnu", "PostgreSQL 9.6.24,"],
    ["PostgreSQL 14.4 (EnterpriseDB Advanced Server 14.4.0) on x86_64", "PostgreSQL 14.4,"],
    ["CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27, go1.19.10)", "CockroachDB"],
    [
      "PostgreSQL 11.2-YB-2.20.1.3-b0 on x86_64-pc-linux-gnu, compiled by clang",
      "YugabyteDB (PostgreSQL 11.2-YB-2.20.1.3-b0)",
    ],
    [
      "PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang",
      "YugabyteDB (PostgreSQL 15.2-YB-2.25.0.0-b0)",
    ],
    ["PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc 3.4.2, Redshift 1.0.12103", "Redshift 1.0.12103,"],
    ["PostgreSQL 9.5.0 on x86_64-unknown-linux-gnu (Materialize v0.68.0)", "Materialize v0.68.0,"],
    ["PostgreSQL 16.1 (Greenplum Database 8.0) on x86_64-pc-linux-gnu", "Greenplum Database 8.0,"],
    ["PostgreSQL 13.14.0-RisingWave-2.0.0 (abcdef)", "RisingWave"],
    ["CrateDB 5.6.0 (built abc/NA, Linux)", "CrateDB 5.6.0,"],
    ["PostgreSQL", "PostgreSQL,"],
    ["undefined", "undefined,"],
    ["", "of an unknown kind,"],
  ])("%s is none, by its name", (version, name) => {
    const problem = engineProblem(version);
    expect(problem).toContain(`The database is ${name}`);
    expect(problem).toMatch(/PostgreSQL 15 or newer$/);
    expect(problem).not.toContain("\n");
  });
});

/** Speaks as much of the protocol as it takes to be asked for its version, and remembers what it was asked. */
class FakeEngine {
  readonly asked: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => {
    this.#sockets.add(socket);
    let begun = false;
    let pending = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      pending = Buffer.concat([pending, bytes]);
      for (;;) {
        const lengthAt = begun ? 1 : 0;
        if (pending.length < lengthAt + 4) return;
        const end = lengthAt + pending.readInt32BE(lengthAt);
        if (pending.length < end) return;
        const message = pending.subarray(0, end);
        pending = pending.subarray(end);
        if (begun) this.#hear(socket, message);
        else socket.write(Buffer.concat([frame("R", int32(0)), READY]));
        begun = true;
      }
    });
  });
  readonly #version: string;

  constructor(version: string) {
    this.#version = version;
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `postgresql://root@127.0.0.1:${(this.#server.address() as AddressInfo).port}/markets`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #hear(socket: Socket, message: Buffer): void {
    if (message.toString("latin1", 0, 1) !== "Q") return;
    const query = message.toString("utf8", 5, message.length - 1);
    this.asked.push(query);
    if (query !== "select version()") {
      const fields = "SERROR\0VERROR\0C42601\0Mnot here\0\0";
      socket.write(Buffer.concat([frame("E", Buffer.from(fields)), READY]));
      return;
    }
    const column = [
      Buffer.from("version\0"),
      int32(0),
      Buffer.from([0, 0]),
      int32(25),
      Buffer.from([255, 255]),
      int32(-1),
    ];
    const value = Buffer.from(this.#version);
    socket.write(
      Buffer.concat([
        frame("T", Buffer.concat([Buffer.from([0, 1]), ...column, Buffer.from([0, 0])])),
        frame("D", Buffer.concat([Buffer.from([0, 1]), int32(value.length), value])),
        frame("C", Buffer.from("SELECT 1\0")),
        READY,
      ]),
    );
  }
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function frame(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

const READY = frame("Z", Buffer.from("I"));

describe("an engine that only speaks the protocol", () => {
  let engine: FakeEngine;
  let operator: Operator;

  beforeAll(async () => {
    engine = new FakeEngine("CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27, go1.19.10)");
    process.env.ACME_DATABASE_URL = await engine.listen();
    operator = await newOperator({ cluster: "none" });
    await operator.run("init", "acme");
    await operator.edit("acme", (text) => `${text}\ndatabase: { url: { env: ACME_DATABASE_URL } }\n`);
  });

  afterAll(async () => {
    engine?.close();
    await operator?.close();
  });

  test.each([
    ["plan", "acme"],
    ["apply", "acme"],
    ["serve", "acme", "--port", "0", "--ops-port", "0"],
    ["db", "migrate"],
    ["db", "backup"],
    ["reconcile", "--via", "db"],
    ["market", "list", "--via", "db"],
    ["audit", "verify", "--via", "db"],
  ])("is refused by %s %s before any table is asked", async (...args) => {
    const { exitCode, stderr } = await operator.run(...args);
    expect(stderr).toContain("The database is CockroachDB CCL v23.1.11, which only speaks PostgreSQL's protocol");
    expect(exitCode).toBe(6);
    expect(new Set(engine.asked)).toEqual(new Set(["select version()"]));
  });

  test("fails doctor's check of the database", async () => {
    const { stdout } = await operator.run("doctor", "-t", "acme", "-o", "json");
    const { checks } = JSON.parse(stdout) as { checks: { check?: string; name?: string; found: string }[] };
    expect(JSON.stringify(checks)).toContain("The database is CockroachDB CCL v23.1.11");
    expect(new Set(engine.asked)).toEqual(new Set(["select version()"]));
  });

  test.each([
    [
      "PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64-pc-linux-gnu",
      "YugabyteDB (PostgreSQL 15.2-YB-2.25.0.0-b0), which only",
    ],
    [
      "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc 3.4.2, Redshift 1.0.12103",
      "Redshift 1.0.12103, which only",
    ],
    ["PostgreSQL 14.9 on x86_64-pc-linux-gnu", "PostgreSQL 14.9, and pmctl needs PostgreSQL 15 or newer"],
  ])("is refused as %s with 6, in one sentence, having been asked for nothing else", async (version, sentence) => {
    const other = new FakeEngine(version);
    vi.stubEnv("ACME_DATABASE_URL", await other.listen());
    onTestFinished(() => {
      vi.unstubAllEnvs();
      other.close();
    });
    const { exitCode, stderr } = await operator.run("apply", "acme");
    expect([exitCode, stderr]).toEqual([6, expect.stringContaining(`The database is ${sentence}`)]);
    expect(new Set(other.asked)).toEqual(new Set(["select version()"]));
  });
});
