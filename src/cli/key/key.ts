import { type Command, InvalidArgumentError, Option } from "commander";
import type { OperatorTenant } from "../../app/tenant/operator-tenant.ts";
import type { FileSecret } from "../../app/tenant/tenant-secrets.ts";
import { INBOUND_ENDPOINTS, type InboundEndpoint } from "../../contract/constants.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { normalRange } from "../../domain/access/networks.ts";
import { isScope, normalScopes, noScope, SCOPES, type Scope } from "../../domain/access/scopes.ts";
import { Fault } from "../../domain/fault.ts";
import { isProposal } from "../../domain/policy/proposal.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { ASKS_TENANT } from "../errors.ts";
import { identifier, timeAhead, timeSpan } from "../input/parsers.ts";
import { mustAsk } from "../input/prompts.ts";
import {
  createdView,
  type KeyItem,
  listView,
  NO_API_KEY,
  revokedView,
  rotatedView,
  rotationView,
} from "./key-views.ts";

const KEY_TYPES = ["admin", "public"] as const;
type KeyType = (typeof KEY_TYPES)[number];
type Repeatable = { idempotencyKey?: string | undefined };

interface CreateOptions extends Repeatable {
  name: string;
  type: KeyType;
  scopes?: Scope[] | undefined;
  /** Networks from which the key works. */
  from?: string[] | undefined;
  expiresAt?: string | undefined;
}

interface RotateOptions extends Repeatable {
  name: string;
  type?: KeyType | undefined;
  overlapSeconds?: number | undefined;
  leaked?: boolean | undefined;
  expiresAt?: string | undefined;
}

interface RevokeOptions extends Pick<RotateOptions, "name" | "type"> {
  yes?: boolean | undefined;
}

interface Flags {
  name?: string;
  expires?: string;
  overlap?: number;
}

interface RotateFlags extends Flags {
  leaked?: boolean;
  type?: KeyType | "webhook" | "audit";
  endpoint?: InboundEndpoint;
}

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .command("list")
      .description("list API keys and the secrets of the tenant file: names, places and fingerprints, never values"),
    {
      names: "name type active onRecord scopes from createdAt expiresAt leaked lastUsedAt reference fingerprint",
      ends: ASKS_TENANT,
      each: true,
    },
    ({ options, io }) =>
      withSession(options, io, async (session) => {
        const { listFileSecrets } = await import("../../app/tenant/tenant-secrets.ts");
        return runKeyList({ secrets: listFileSecrets(session.tenant) }, session.api(), io);
      }),
  );
  host.add<Flags & Pick<CreateOptions, "type" | "scopes" | "from">>(
    nameOptions(
      noun.command("create").description("create an API key; prints its value once"),
      "the key's name in audit entries",
    )
      .addOption(
        new Option("--type <type>", "admin is for operators, public may read and trade for signed-in users")
          .choices(KEY_TYPES)
          .makeOptionMandatory(),
      )
      .option("--scopes <list>", `what an admin key may do, of ${SCOPES.join(",")} (default: *)`, scopeList)
      .option("--from <cidr>", "a network from which the key works; repeat for more (default: anywhere)", networks)
      .option(
        "--expires <when>",
        "end after a span such as 90d, or at a time with its zone (default: never)",
        timeAhead,
      ),
    { operation: "createKey" },
    ({ options, args, io }) => {
      const { type, scopes, from, expires: expiresAt, idempotencyKey } = options;
      const create = { name: keyName(args[0], options), type, scopes, from, expiresAt, idempotencyKey };
      return withSession(options, io, (session) => runKeyCreate(create, session.api(), io));
    },
  );
  host.add<RotateFlags>(
    nameOptions(
      noun
        .command("rotate")
        .description("give a key a new value under the same name; with --type webhook|audit print what to put where"),
      "the API key",
    )
      .addOption(
        new Option("--type <type>", "its type, or the kind of secret").choices([...KEY_TYPES, "webhook", "audit"]),
      )
      .addOption(
        new Option("--endpoint <endpoint>", "which webhook secrets (default: the shared ones)").choices(
          INBOUND_ENDPOINTS,
        ),
      )
      .option("--overlap <span>", "how long the old value still works; 0 ends it at once (default: 24h)", overlap)
      .option("--leaked", "end the old value now, and the streams that were opened with it")
      .option("--expires <when>", "end the new value after a span such as 90d, or at a time with its zone", timeAhead),
    { operation: "rotateKey" },
    async ({ options, args, io }) => {
      const { type, endpoint, leaked } = options;
      if (leaked && options.overlap !== undefined)
        throw new Fault("USAGE", "--leaked ends the old value now: leave out --overlap");
      if (endpoint && type !== "webhook") throw new Fault("USAGE", "--endpoint goes with --type webhook");
      if (type === "webhook" || type === "audit") {
        if (leaked)
          throw new Fault(
            "USAGE",
            `--leaked is for API keys; to end a leaked ${type} secret, leave its old value out of the file`,
          );
        if (options.idempotencyKey !== undefined)
          throw new Fault("USAGE", `--type ${type} changes nothing: leave out --idempotency-key`);
        const { readOperatorTenant } = await import("../../app/tenant/operator-tenant.ts");
        return runSecretRotate({ type, endpoint }, readOperatorTenant(options.tenant), io);
      }
      const { overlap: overlapSeconds, expires: expiresAt, idempotencyKey } = options;
      const rotate = { name: keyName(args[0], options), type, overlapSeconds, leaked, expiresAt, idempotencyKey };
      await withSession(options, io, (session) => runKeyRotate(rotate, session, io));
    },
  );
  host.add<Flags & { type?: KeyType }>(
    nameOptions(noun.command("revoke").description("revoke an API key at once"), "the API key").addOption(
      new Option("--type <type>", "the key's type").choices(KEY_TYPES),
    ),
    { operation: "revokeKey" },
    ({ options, args, io }) => {
      const revoke = { name: keyName(args[0], options), type: options.type, yes: options.yes };
      mustAsk(revoke, io.prompts);
      return withSession(options, io, (session) => runKeyRevoke(revoke, session.api(), io));
    },
  );
}

/** The argument or `--name` names a key. */
function nameOptions(command: Command, description: string): Command {
  return command
    .argument("[name]", description, identifier)
    .option("--name <name>", "the key's name, instead of the argument", identifier);
}

/** @throws Fault USAGE when the line has no name, or two */
export function keyName(argument: string | undefined, { name }: Flags): string {
  if (argument !== undefined && name !== undefined && argument !== name)
    throw new Fault("USAGE", `The argument names key ${argument}, and --name key ${name}: leave one out`);
  const named = argument ?? name;
  if (named === undefined) throw new Fault("USAGE", "Name the key, as its argument or with --name");
  return named;
}

/** Such as `read,settle`; each word must be a known scope. */
function scopeList(value: string): Scope[] {
  const words = value.split(",").map((word) => word.trim());
  const scopes = words.filter(isScope);
  const wrong = words.find((word) => !isScope(word));
  if (wrong !== undefined) throw new InvalidArgumentError(`${JSON.stringify(wrong)} ${noScope(wrong)}`);
  return normalScopes(scopes);
}

/** Adds a network to the ones of earlier options. */
export function networks(value: string, before: readonly string[] = []): string[] {
  const range = normalRange(value);
  if (range === undefined)
    throw new InvalidArgumentError("It must be an address range such as 10.0.0.0/8 or fd00::/8.");
  return [...before, range];
}

/** In whole seconds; `0` ends the old value at once. */
export function overlap(value: string): number {
  return /^0[smhd]?$/.test(value) ? 0 : timeSpan(value) / 1000;
}

/** The API keys of the database, each with its place in the file if it has one, then the file's other secrets. */
export async function runKeyList(
  { secrets }: { secrets: readonly FileSecret[] },
  api: Api,
  { output }: Io,
): Promise<void> {
  const declared = secrets.filter(({ type }) => type === "key");
  const keys = (await api.listKeys({})).map((key): KeyItem => {
    // Where the secret's value is not available, the key's name identifies it.
    const isPlace = ({ fingerprint, keyName }: FileSecret) =>
      fingerprint === null ? key.active && keyName === key.name : fingerprint === key.fingerprint;
    return { ...key, reference: declared.find(isPlace)?.reference ?? null };
  });
  const others = secrets
    .filter(({ type }) => type !== "key")
    .map(({ name, type, reference, fingerprint }) => ({ name, type, ...NO_API_KEY, reference, fingerprint }));
  await output.print<readonly KeyItem[], KeyItem>([...keys, ...others], listView);
}

export async function runKeyCreate(options: CreateOptions, api: Api, io: Io): Promise<void> {
  const { name, type, scopes, from, expiresAt } = options;
  const stated = { ...(scopes && { scopes }), ...(from && { from }), ...(expiresAt && { expiresAt }) };
  const created = requireValue(await api.createKey({ name, type, ...stated }), options);
  await io.output.print(created, createdView);
  if (isProposal(created)) return;
  noteValue(created, io);
}

export async function runKeyRotate(
  { name, type, overlapSeconds, leaked, expiresAt, idempotencyKey }: RotateOptions,
  { api, tenant }: { api: () => Api; tenant: Pick<OperatorTenant, "id" | "config"> },
  io: Io,
): Promise<void> {
  const rotated = requireValue(
    await api().rotateKey({ name, type, overlapSeconds, ...(leaked && { leaked }), ...(expiresAt && { expiresAt }) }),
    { idempotencyKey },
  );
  await io.output.print(rotated, rotatedView);
  if (isProposal(rotated)) return;
  noteValue(rotated, io);
  // A public key acts for users, who are the actors on record.
  if (leaked && rotated.type === "admin")
    io.output.note(`What the old value did is on record: pmctl audit list --actor admin:${name} -t ${tenant.id}`);
  if (rotated.key === null) return;
  const { keys, source } = tenant.config;
  const index = keys[rotated.type].findIndex((key) => key.name === name);
  if (index === -1) return;
  const { file, line } = source.positionOf(["keys", rotated.type, index]);
  const { describeReference } = await import("../../config/secrets/secrets.ts");
  const reference = keys[rotated.type][index]?.secret;
  const place = reference ? describeReference(reference) : "its place";
  io.output.note(`${file}:${line} takes this key from ${place}: put the new value there before the next apply.`);
}

/** Prints the new value of a secret that is kept outside the database, and what to put where. Changes nothing. */
export async function runSecretRotate(
  rotation: { type: "webhook" | "audit"; endpoint?: InboundEndpoint | undefined },
  tenant: OperatorTenant,
  { output }: Io,
): Promise<void> {
  const [{ planFileRotation }, { freshSecret }] = await Promise.all([
    import("../../app/tenant/tenant-secrets.ts"),
    import("../../config/init.ts"),
  ]);
  await output.print(planFileRotation(tenant, rotation, freshSecret(rotation.type)), rotationView);
  output.note("Nothing was changed yet.");
}

/**
 * Revokes a key, after the operator has typed its name.
 * @throws Fault USAGE when there is neither `--yes` nor a terminal to ask on
 */
export async function runKeyRevoke(options: RevokeOptions, api: Api, io: Io): Promise<void> {
  const { name, type } = options;
  if (mustAsk(options, io.prompts)) {
    const active = (await api.listKeys({})).filter((key) => key.active);
    if (!active.some((key) => key.name === name)) throw new Fault("NOT_FOUND", `There is no valid key ${name}`);
    const isLastAdmin = active.every((key) => key.type !== "admin" || key.name === name);
    if (isLastAdmin && active.some((key) => key.type === "admin"))
      io.output.note(`${name} is the last admin key: without it the API accepts no operator.`);
    io.output.note(`Requests with ${name} are refused from now on. To revoke it, type its name.`);
    await io.prompts.type("The key's name", name);
  }
  await io.output.print(await api.revokeKey({ name, type }), revokedView);
}

/** The caller of a repeat under the same idempotency key knows that it is a repeat. */
function requireValue<Answer extends Pick<WireResult<"createKey">, "name" | "key">>(
  answer: Answer,
  { idempotencyKey }: Repeatable,
): Answer {
  if (answer.key !== null || idempotencyKey !== undefined) return answer;
  throw new Fault(
    "OUTCOME_UNKNOWN",
    `The answer with the value of ${answer.name} was lost: \`pmctl key rotate ${answer.name}\` makes a new value`,
  );
}

function noteValue({ name, key }: Pick<WireResult<"createKey">, "name" | "key">, { output }: Pick<Io, "output">): void {
  output.note(
    key === null
      ? `The value of ${name} was printed when it was made, and is stored nowhere: \`pmctl key rotate ${name}\` makes a new one`
      : "The value is printed only this once and stored nowhere.",
  );
}
