import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import type { StoryLine } from "../../app/story/payouts.ts";
import type { SignedStory } from "../../app/story/story-page.ts";
import type { Story } from "../../app/story/tell-story.ts";
import type { TenantSession } from "../../app/tenant/session.ts";
import type { Api } from "../../contract/operations.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandModule, type Globals, type Host, type Io, withSession } from "../command.ts";
import { ASKS_TENANT } from "../errors.ts";
import { knownUser, resolveId } from "../input/names.ts";
import { identifier, writableFile } from "../input/parsers.ts";
import { time } from "../output/cells.ts";
import type { View } from "../output/output.ts";

interface StoryOptions {
  out?: string;
  verify?: string;
}

const PRINTS = {
  names: "tenant subject lines verified head signature file entries keyId",
  ends: {
    ...ASKS_TENANT,
    7: "`--verify`: the page was changed after it was signed",
    8: "the log does not hold",
  },
};

export function register(noun: Command, host: Host): void {
  host.add<StoryOptions>(
    withOut(
      noun
        .argument("[market]", "the market: its id, an id prefix, its key, or @last", identifier)
        .description("show a market's life from its file's commit to its payouts, each line with its entry and hash"),
    ).option("--verify <file>", "check a page that --out wrote; exit code 7 when it was changed"),
    PRINTS,
    async ({ options, args: [market], io }) => {
      const { verify } = options;
      if (verify !== undefined) return runVerify(verify, options, io);
      if (market === undefined)
        throw new Fault("USAGE", "Name a market, or a page with --verify FILE (for a user: pmctl user story USER)");
      return tell(options, io, async (session, api, keys) => {
        const { tellMarket } = await import("../../app/story/tell-story.ts");
        return tellMarket(session.tenant.id, await resolveId("market", market, api, session), api, keys);
      });
    },
  );
}

/** `user story USER`. */
export const userStory: CommandModule = {
  register: (noun, host) =>
    host.add<StoryOptions>(
      withOut(
        noun
          .command("story")
          .argument("<id>", "the user", identifier)
          .description("show what a user did and was paid, each line with its entry and hash"),
      ),
      PRINTS,
      ({ options, args: [id = ""], io }) =>
        tell(options, io, async (session, api, keys) => {
          const { tellUser } = await import("../../app/story/tell-story.ts");
          return tellUser(session.tenant.id, await knownUser(id, api), api, keys);
        }),
    ),
};

function withOut(command: Command): Command {
  return command.option("--out <file>", "write one page of HTML, signed with the audit key", writableFile);
}

const storyView: View<Story, StoryLine> = {
  kind: "list",
  rows: ({ lines }) => lines,
  columns: [
    { title: "SEQ", cell: ({ seq }) => String(seq), align: "right", whole: true },
    { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "WHAT", cell: ({ sentence }) => sentence, least: 40, wraps: true },
    { title: "HASH", cell: ({ hash }) => hash.slice(0, 8), whole: true, optional: true },
  ],
  empty: "The log has no entry about it.",
};

interface Written {
  file: string;
  entries: number;
  keyId: string;
}

const writtenView: View<Written, Written> = {
  kind: "record",
  fields: ({ file, entries, keyId }) => [
    ["file", file],
    ["lines", String(entries)],
    ["signed with", keyId],
  ],
};

/**
 * The keys that check a story, the signing key first; undefined where no page is asked for. Over HTTP the server reads
 * the log under its own keys, and the keys of this directory sign the page.
 * @throws Fault CONFIG_INVALID where they belong to another log
 */
async function signingKeys(
  { out }: StoryOptions,
  api: Api,
  { tenant }: Pick<TenantSession, "tenant">,
): Promise<[AuditKey, ...AuditKey[]] | undefined> {
  if (out === undefined) return undefined;
  const [{ auditSecretsOf }, { auditKey }, { requireOurKeys }] = await Promise.all([
    import("../../app/tenant/operator-tenant.ts"),
    import("../../domain/audit/seal.ts"),
    import("../../domain/audit/chain-walk.ts"),
  ]);
  const [secret, ...previous] = auditSecretsOf(tenant);
  const keys: [AuditKey, ...AuditKey[]] = [auditKey(secret), ...previous.map(auditKey)];
  requireOurKeys((await api.listAudit({ limit: 2 })).entries, keys);
  return keys;
}

/** Prints a story, or writes it as a signed page. */
async function tell(
  options: Globals & StoryOptions,
  io: Io,
  read: (session: TenantSession, api: Api, keys: Awaited<ReturnType<typeof signingKeys>>) => Promise<Story>,
): Promise<void> {
  await withSession(options, io, async (session) => {
    const { out } = options;
    const api = session.api();
    const keys = await signingKeys(options, api, session);
    const story = await read(session, api, keys);
    if (out === undefined || keys === undefined) return io.output.print(story, storyView);
    const { signStory, storyPage } = await import("../../app/story/story-page.ts");
    const [key] = keys;
    await writeFile(out, storyPage(signStory(story, key))).catch((cause: Error) => {
      throw new Fault("USAGE", `${out} cannot be written: ${cause.message}`, { cause });
    });
    await io.output.print({ file: out, entries: story.lines.length, keyId: key.id }, writtenView);
  });
}

/** Needs only the audit keys of the tenant. */
async function runVerify(file: string, options: Globals, { output }: Io): Promise<void> {
  const [{ auditSecretsOf, readOperatorTenant }, { auditKey }, { verifyPage }] = await Promise.all([
    import("../../app/tenant/operator-tenant.ts"),
    import("../../domain/audit/seal.ts"),
    import("../../app/story/story-page.ts"),
  ]);
  const story: SignedStory = await verifyPage(file, auditSecretsOf(readOperatorTenant(options.tenant)).map(auditKey));
  const { lines, signature } = story;
  await output.print({ file, entries: lines.length, keyId: signature.keyId }, writtenView);
}
