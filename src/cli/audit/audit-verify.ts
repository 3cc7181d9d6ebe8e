import { fstatSync } from "node:fs";
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import type { Verification } from "../../app/audit/verify-log.ts";
import type { ChainReport, Entry, LogText } from "../../app/audit/walk-log.ts";
import type { Api } from "../../contract/operations.ts";
import { GENESIS_HASH } from "../../domain/audit/audit-link.ts";
import { type ChainBreak, otherKeyFault } from "../../domain/audit/chain-walk.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type CommandModule, type Io, withSession } from "../command.ts";
import { ASKS_TENANT } from "../errors.ts";
import { writableFile } from "../input/parsers.ts";
import type { View } from "../output/output.ts";

interface VerifyArguments {
  file?: string;
  anchor?: string;
  incremental?: boolean;
  full?: boolean;
}

export const auditVerify: CommandModule = {
  register: (noun, host) =>
    host.add<VerifyArguments>(
      noun
        .command("verify")
        .description(
          "verify every link of the chain; exit code 8 when a link does not hold, 6 when the log has another audit key",
        )
        .option("--file <file>", "verify an export instead of the tenant's own log; needs no database and no server")
        .option("--anchor <file>", "anchors or receipts (--receipt) that the chain must still hold")
        .option("--incremental", "verify only the entries written since this directory's last verification")
        .option("--full", "verify from the first entry on, as without --incremental"),
      {
        names: "verified head count broken",
        ends: { ...ASKS_TENANT, 8: "a link of the chain does not hold, or an anchor is missing" },
        each: true,
      },
      async ({ options, io }) => {
        const { file, anchor, incremental, full } = options;
        if (incremental && (full || file !== undefined || anchor !== undefined))
          throw new Fault("USAGE", "--incremental leaves out what --full, --file and --anchor ask for: use it alone");
        const { verificationOf, verificationOfFile } = await import("../../app/audit/verify-log.ts");
        const terms = { anchor, incremental: incremental === true, note: (text: string) => io.output.note(text) };
        // An export is verified with the audit keys and nothing else of the tenant.
        if (file !== undefined)
          return runAuditVerify(await verificationOfFile(options.tenant, file, terms), {} as Api, io);
        return withSession(options, io, async (session) =>
          runAuditVerify(await verificationOf(session, terms), session.api(), io),
        );
      },
    ),
};

export const auditExport: CommandModule = {
  register: (noun, host) =>
    host.add<{ out?: string }>(
      noun
        .command("export")
        .description("export every entry, oldest first, one line of JSON each; audit verify --file checks it anywhere")
        .option("--out <file>", "write to a file; replaces an existing one", writableFile),
      { names: "file entries head", ends: { ...ASKS_TENANT, 8: "the log does not hold" } },
      ({ options, io }) =>
        // An auditor can still get the log of a tenant whose audit key is lost.
        withSession({ ...options, anyAuditKey: true }, io, ({ api, logText }) =>
          runAuditExport({ out: options.out, logText }, api(), io),
        ),
    ),
};

const reportView: View<ChainReport, ChainReport> = {
  kind: "record",
  fields: ({ verified, head, count: entries, broken }) => [
    ["verified", verified ? "yes" : "NO"],
    ["entries", String(entries)],
    ["head", head],
    ["kind", broken?.kind],
    ["first bad entry", broken?.seq.toString()],
    ["problem", broken?.problem],
    ["stored hash", broken?.stored],
    ["expected hash", broken?.computed],
  ],
};

/** A problem of a log, as reports and the status print it. */
type Problem = Pick<ChainBreak, "kind" | "problem"> & { sealedWith?: string | undefined };

/** @returns CONFIG_INVALID for the keys of another log, which says nothing against the record; else INTEGRITY */
export function brokenLog({ kind, problem, sealedWith }: Problem): Fault {
  if (sealedWith === undefined) return new Fault("INTEGRITY", `The audit log does not hold (${kind}): ${problem}`);
  return otherKeyFault(problem);
}

/** @throws Fault CONFIG_INVALID for another log's keys; after printing, INTEGRITY that names the first bad entry */
export async function runAuditVerify(options: Verification, api: Api, { output }: Io): Promise<void> {
  const { verify, from, anchors, keep } = options;
  const onProgress = (checked: number, entries: number) =>
    output.progress(`${checked} of ${counted(entries, "entry", "entries")} verified`);
  let report = await verify(api, { from, anchors, onProgress });
  // The log may have lost the verified point itself. Then only a walk from the start finds the first bad entry.
  if (from && report.broken) report = await verify(api, { anchors, onProgress });
  await output.print(report, reportView);
  const { broken } = report;
  if (broken) throw brokenLog(broken);
  await keep?.(report).catch((error: Error) => output.note(`The verified point cannot be saved: ${error.message}`));
}

interface ExportOptions {
  out?: string | undefined;
  logText?: LogText;
}

/**
 * Piece by piece, however long the log is. A file appears when it is complete. A device or a pipe is written to as it
 * stands, since a rename would replace it by a file.
 */
export async function runAuditExport({ out, logText }: ExportOptions, api: Api, { output }: Io) {
  const { textAfter } = await import("../../app/audit/walk-log.ts");
  const target = out === undefined ? undefined : await targetOf(out);
  const handle = target && (await open(target.written, "w", 0o600).catch(unwritable(target.written)));
  let [entries, head] = [0, GENESIS_HASH];
  try {
    for await (const text of await textAfter(api, logText)) {
      const wanted = handle ? await handle.writeFile(text).then(() => true) : await output.stream(text);
      if (!wanted) return;
      const lines = text.trimEnd().split("\n");
      entries += lines.length;
      head = (JSON.parse(lines.at(-1) ?? "") as Entry).hash;
      output.progress(`${counted(entries, "entry", "entries")} exported`);
    }
    if (target?.replaced !== undefined) await handle?.sync();
  } catch (error) {
    if (target?.replaced !== undefined) await rm(target.written, { force: true });
    throw error;
  } finally {
    await handle?.close();
  }
  if (out === undefined || target === undefined) return;
  if (target.replaced !== undefined) await rename(target.written, target.replaced).catch(unwritable(out));
  const exported = { file: out, entries, head };
  await output.print(exported, {
    kind: "record",
    fields: () => [
      ["file", out],
      ["entries", String(entries)],
      ["head", head],
    ],
  });
}

/** The file that an export is written to, and the one that it replaces; undefined for this process's own stdout. */
async function targetOf(out: string): Promise<{ written: string; replaced?: string } | undefined> {
  const found = await stat(out).catch(() => undefined);
  const stdout = fstatSync(process.stdout.fd);
  if (found?.ino === stdout.ino && found.dev === stdout.dev) return undefined;
  if (found && !found.isFile()) return { written: out };
  const file = found ? await realpath(out) : out;
  return { written: `${file}.part`, replaced: file };
}

function unwritable(file: string): (cause: Error) => never {
  return (cause) => {
    throw new Fault("USAGE", `${file} cannot be written: ${cause.message}`, { cause });
  };
}
