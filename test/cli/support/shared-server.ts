import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type Agent, type OutgoingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { textArray } from "../../../src/postgres/arrays.ts";
import { withClient } from "../../../src/postgres/connect.ts";
import { embeddedCluster } from "../../../src/postgres/embedded/cluster.ts";
import { marketThatCloses, newOperator, type Operator } from "../../support/operator.ts";
import { withRateLimit } from "../../support/tenant-text.ts";
import { MAIN } from "./pmctl.ts";

interface Asked {
  method?: string;
  headers?: OutgoingHttpHeaders;
  agent?: Agent;
}

interface Answered {
  status: number;
  code: unknown;
  body: Record<string, unknown>;
  retryAfter?: string | undefined;
}

/** `pmctl up --shared` as a process. */
interface Shared {
  child: ChildProcess;
  printed: Record<string, unknown>;
  port: number;
  /** What it has said on stderr so far. */
  said(): string;
  ask(host: string, path?: string, asked?: Asked): Promise<Answered>;
  /** Resolves once a tenant's health is answered 200: while it is being opened on a busy machine it may be refused. */
  answers(host: string, agent?: Agent): Promise<void>;
  /** Status and body of a page of the operations listener. */
  ops(path: string): Promise<[number, unknown]>;
  tenants(): Promise<{ tenant: string; hosts: string[]; state: string; problem: string | null; inTurn: boolean }[]>;
}

export const hostOf = (tenant: string) => `predict.${tenant}.example`;

export let operator: Operator;
export let secrets: Record<string, string>;
const children = new Set<ChildProcess>();

export async function directoryWith(...tenants: string[]): Promise<void> {
  operator = await newOperator();
  for (const tenant of tenants) {
    await operator.run("init", tenant);
    await operator.edit(tenant, (file) => `${withRateLimit(file, 1_000_000)}\nkyc: { required: false }\n`);
  }
  expect(await operator.run("apply", "*", "--quiet")).toMatchObject({ exitCode: 0 });
  secrets = await operator.secrets();
}

export async function open(...flags: string[]): Promise<Shared> {
  const child = spawn(
    process.execPath,
    [MAIN, "up", operator.directory, "--shared", "--port", "0", "--ops-port", "0", "-o", "ndjson", ...flags],
    { cwd: "/tmp", stdio: ["ignore", "pipe", "pipe"] },
  );
  children.add(child);
  child.once("exit", () => children.delete(child));
  let said = "";
  child.stderr.on("data", (bytes) => {
    said += String(bytes);
  });
  const [line] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    once(child, "exit").then(([code]) => Promise.reject(new Error(`up ended with ${code}: ${said}`))),
  ]);
  const printed = JSON.parse(String(line)) as Shared["printed"];
  const port = Number(new URL(String(printed.url)).port);
  const ops: Shared["ops"] = async (path) => {
    const answer = await fetch(`${printed.opsUrl}${path}`);
    const body = await answer.text();
    return [answer.status, path === "/metrics" ? body : JSON.parse(body)];
  };
  const ask: Shared["ask"] = (host, path = "/health", { method = "GET", headers = {}, agent } = {}) =>
    new Promise((resolve, reject) => {
      const asked = request({
        ...{ host: "127.0.0.1", port, path, method, agent: agent ?? false, headers: { host, ...headers } },
      });
      asked.once("error", reject).once("response", async (answer) => {
        const { statusCode: status = 0, headers: head } = answer;
        const body = JSON.parse(await text(answer)) as Answered["body"];
        resolve({ status, code: head["error-code"], body, retryAfter: head["retry-after"] });
      });
      asked.end();
    });
  return {
    ...{ child, printed, port, ops, ask },
    said: () => said,
    answers: (host, agent) =>
      expect
        .poll(() => ask(host, "/health", agent ? { agent } : {}), { interval: 250 })
        .toMatchObject({ status: 200, body: { ok: true } }),
    tenants: async () => (await ops("/tenants"))[1] as Awaited<ReturnType<Shared["tenants"]>>,
  };
}

export async function ended(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<unknown> {
  const exit = once(child, "exit");
  child.kill(signal);
  return (await exit)[0];
}

export async function closeAll(): Promise<void> {
  for (const child of children) await ended(child, "SIGKILL");
  await operator.close();
}

export function inDatabase<Row extends object>(
  database: string,
  query: (sql: Parameters<Parameters<typeof withClient>[2]>[0]) => PromiseLike<readonly Row[]>,
) {
  const connection = embeddedCluster(operator.directory).connection(database);
  return withClient(connection, { name: "test", max: 1 }, query);
}

export const sessionsOf = async (...tenants: string[]) =>
  (
    await inDatabase<{ pid: number }>(
      tenants[0] ?? "",
      (sql) => sql`
        select pid from pg_stat_activity
         where datname = any(${textArray(tenants)}::text[]) and application_name like 'pmctl%' and application_name <> 'pmctl test'`,
    )
  ).map(({ pid }) => pid);

export const isClosingRecorded = async (tenant: string, marketId: string) =>
  (
    await inDatabase<{ closing_recorded: boolean }>(
      tenant,
      (sql) => sql`select closing_recorded from book where market_id = ${marketId}`,
    )
  ).some((row) => row.closing_recorded);

export const closingMarket = (tenant: string) =>
  marketThatCloses(operator, (closeAt) => [
    ...["-t", tenant, "--via", "db", "market", "create", "-o", "json", "--close-at", closeAt],
    ...["--question", "Will it be recorded?", "--category", "other", "--resolution-ref", "see the news"],
    ...["--kind", "cpmm", "--p0", "0.5", "--liquidity", "100", "--yes"],
  ]);

/** Any hold: a proposal cannot be executed while it runs. */
const HOLD_HOURS = 0.001;

/** Proposes a settlement past the server, which has to execute it once the hold is over. */
export async function heldSettlement(tenant: string): Promise<string> {
  const file = join(operator.directory, "held.yaml");
  const market = {
    ...{ key: "held", question: "Will it be settled?", category: "other", resolutionRef: "see the news" },
    ...{ kind: "cpmm", p0: 0.5, closeAt: "2096-01-01T00:00:00Z", resolution: { holdHours: HOLD_HOURS } },
  };
  await writeFile(file, JSON.stringify(market));
  const asked = async (...args: string[]) => {
    const { stdout, stderr } = await operator.run("-t", tenant, "--via", "db", ...args, "-o", "json", "--yes");
    expect(stderr).toBe("");
    return JSON.parse(stdout) as { id: string; proposalId: string };
  };
  const { id } = await asked("market", "create", "-f", file);
  return (await asked("market", "settle", id, "--outcome", "yes", "--early", "--reason", "It is known")).proposalId;
}

export const proposalIn = async (tenant: string, id: string) =>
  (
    await inDatabase<{ status: string; decided_by: string | null }>(
      tenant,
      (sql) => sql`select status, decided_by from proposal where id = ${id}`,
    )
  )[0];
