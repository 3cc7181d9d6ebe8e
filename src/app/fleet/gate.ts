import { execa } from "execa";
import pMap from "p-map";
import { ALLOW_EXEC, type Environment, processEnvironment, readKeyVariable } from "../../config/environment.ts";
import { secretPlaces } from "../../config/secrets/secret-places.ts";
import type { Wave } from "../../config/selection/fleet-file.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { openWorkspace, tenantPath } from "../../config/workspace.ts";
import { counted } from "../../domain/text.ts";
import { verificationOf } from "../audit/verify-log.ts";
import { examineTenant } from "../checks/examine.ts";
import { databaseUrlAtHand, readOperatorTenant } from "../tenant/operator-tenant.ts";
import { serversHere } from "../tenant/servers-here.ts";
import { openSession, type SessionOptions, type TenantSession } from "../tenant/session.ts";
import type { GateResult } from "./fleet-run.ts";

type Gate = Wave["gate"];

/** A tenant of an applied wave, with the way to reach it. */
export interface GatedTenant {
  tenant: string;
  /** Address of the tenant's server; null for a server of this directory. */
  url: string | null;
  options: SessionOptions;
}

interface Surroundings {
  wave: string;
  directory: string;
  parallelism: number;
  signal: AbortSignal;
  note: (message: string) => void;
  found: (result: GateResult) => void;
}

type Finding = Omit<GateResult, "tenant">;

/** A check of one tenant; throws where it cannot be made. */
type GateCheck = (tenant: GatedTenant) => Promise<Finding[]>;

/**
 * Checks the gate of a wave: doctor, reconciliation, chain, and then the command if all tenants passed these.
 */
export async function lookAtGate(gate: Gate, tenants: readonly GatedTenant[], around: Surroundings): Promise<void> {
  const { directory, parallelism, signal, note, found } = around;
  let passes = true;
  const each = async (checks: readonly string[], look: GateCheck): Promise<void> => {
    const one = async (tenant: GatedTenant): Promise<void> => {
      if (signal.aborted) return;
      const results = await look(tenant).catch((error: Error) =>
        checks.map((check) => ({ check, ok: false, found: `the check cannot be made: ${error.message}` })),
      );
      for (const { check, ok, found: text } of results) found({ check, tenant: tenant.tenant, ok, found: text });
      passes &&= results.every(({ ok }) => ok);
    };
    await pMap(tenants, one, { concurrency: parallelism });
  };

  await each(["doctor"], (tenant) => lookByDoctor(tenant, gate.doctor, directory, note));
  const proofs = (["reconcile", "chain"] as const).filter((check) => gate[check]);
  if (proofs.length > 0)
    await each(proofs, (tenant) =>
      withTenant(besideServer(tenant, directory), note, (session) => prove(session, proofs, note)),
    );

  const { command } = gate;
  if (passes && command) await each(["command"], (tenant) => runCommand({ ...gate, command }, tenant, around));
}

/**
 * The doctor's checks where the tenant's files and secrets are here; the server's own health for a tenant elsewhere.
 * Without `doctor` in the gate, only checks that an expected server runs.
 */
async function lookByDoctor(
  tenant: GatedTenant,
  isAsked: boolean,
  directory: string,
  note: (message: string) => void,
): Promise<Finding[]> {
  if (!isAsked && !readOperatorTenant(tenant.tenant, directory).config.server.expected) return [];
  if (tenant.url !== null)
    return withTenant(tenant, note, async (session) => {
      const { ok, db } = await session.api().getHealth({});
      const found = `its server reports ${ok ? "good" : "bad"} health, its database ${db ? "answers" : "does not answer"}`;
      return [{ check: "doctor", ok: ok && db, found }];
    });
  const examined = await examineTenant(directory, tenant.tenant);
  const checks = isAsked ? examined : examined.filter(({ check }) => check === "server");
  const failed = checks.filter(({ status }) => status === "fail");
  const found = failed.map(({ check, found: text }) => `${check}: ${text}`).join("; ");
  return [{ check: "doctor", ok: failed.length === 0, found: found || counted(checks.length, "check") }];
}

async function prove(
  session: TenantSession,
  proofs: readonly ("reconcile" | "chain")[],
  note: (message: string) => void,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of proofs) {
    const look = check === "reconcile" ? reconciled(session) : verified(session, note);
    const result = await look.catch((error: Error) => ({ ok: false, found: error.message }));
    findings.push({ check, ...result });
  }
  return findings;
}

async function reconciled(session: TenantSession) {
  const { ok, discrepancy } = await session.api().reconcile({});
  return { ok, found: ok ? "the ledger adds up" : `the ledger does not add up: ${discrepancy} USD in sums` };
}

async function verified(session: TenantSession, note: (message: string) => void) {
  const { verify, from, anchors, keep } = await verificationOf(session, { incremental: false, note });
  const report = await verify(session.api(), { from, anchors });
  const { broken, count } = report;
  if (broken) return { ok: false, found: `entry ${broken.seq}: ${broken.problem}` };
  await keep?.(report).catch(() => undefined);
  return { ok: report.verified, found: `${counted(count, "entry", "entries")} verified` };
}

async function runCommand(
  { command: [program = "", ...args], commandTimeout }: Gate & { command: readonly string[] },
  { tenant, url }: GatedTenant,
  { wave, directory, signal }: Surroundings,
): Promise<Finding[]> {
  const { exitCode, timedOut, shortMessage, stderr } = await execa(program, args, {
    cwd: directory,
    extendEnv: false,
    env: {
      ...commandEnvironment(directory),
      ...{ PMCTL_TENANT: tenant, PMCTL_WAVE: wave, PMCTL_URL: url ?? (await addressOf(tenant, directory)) },
    },
    reject: false,
    stdin: "ignore",
    stdout: "ignore",
    timeout: commandTimeout,
    forceKillAfterDelay: 5000,
    cancelSignal: signal,
  });
  if (exitCode === 0) return [{ check: "command", ok: true, found: "ended with 0" }];
  const last = stderr.trim().split("\n").at(-1)?.slice(0, 200) ?? "";
  const ended = exitCode === undefined ? (shortMessage ?? "could not be run") : `ended with ${exitCode}`;
  const how = timedOut ? `took longer than ${commandTimeout / 1000} s` : ended;
  return [{ check: "command", ok: false, found: last === "" ? how : `${how}: ${last}` }];
}

/**
 * The environment of a gate's command: this process's variables without the tenants' secrets, and without the
 * permission to run programs.
 * @throws ConfigError for a tenant file that cannot be read, because its secrets are then unknown
 */
export function commandEnvironment(directory: string, own: Environment = processEnvironment()): Environment {
  const withheld = openWorkspace(directory).tenants.flatMap((tenant) => {
    const references = secretPlaces(loadTenantFile(tenantPath(directory, tenant))).map(({ reference }) => reference);
    return [readKeyVariable(tenant), ...references.flatMap((each) => ("env" in each ? [each.env] : []))];
  });
  const hidden = new Set([ALLOW_EXEC, ...withheld]);
  return Object.fromEntries(Object.entries(own).filter(([name]) => !hidden.has(name)));
}

/** The address of the server on this machine, else the address for traders. */
async function addressOf(id: string, directory: string): Promise<string> {
  const tenant = readOperatorTenant(id, directory);
  const { servers } = await serversHere(tenant);
  return servers[0]?.url ?? tenant.config.baseUrl;
}

/**
 * Goes straight to the database where that is possible: at the server the gate shares a rate limit that the tenant's
 * traffic or its tests may have used up.
 */
function besideServer(tenant: GatedTenant, directory: string): GatedTenant {
  const { url, options } = tenant;
  if (url !== null || options.via !== "auto" || options.key !== undefined) return tenant;
  const read = readOperatorTenant(tenant.tenant, directory);
  const isAtHand = read.config.database === "embedded" || databaseUrlAtHand(read, "url") !== undefined;
  return isAtHand ? { ...tenant, options: { ...options, via: "db" } } : tenant;
}

async function withTenant<Value>(
  { options }: GatedTenant,
  note: (message: string) => void,
  work: (session: TenantSession) => Promise<Value>,
): Promise<Value> {
  const session = await openSession(options, note);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}
