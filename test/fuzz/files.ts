import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { openBackup } from "../../src/app/backup/backup-file.ts";
import { readPlans, requireSame } from "../../src/cli/config/plan-file.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { planInit } from "../../src/config/init.ts";
import { parseTenantFile } from "../../src/config/tenant-file.ts";
import { checkMarketFile } from "../../src/config/tenant-files/market-files.ts";
import { KycEvent, StripeEvent } from "../../src/contract/resources/inbound.ts";
import { isGenuine, parseAnchor, signAnchor } from "../../src/domain/audit/anchor.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { Fault } from "../../src/domain/fault.ts";
import { BACKUP_FORMAT, backupMac } from "../../src/ledger/backup/backup-format.ts";
import { inspectBackup } from "../../src/ledger/backup/backup-reader.ts";
import type { Plan } from "../../src/plan/plan-types.ts";
import { inboundFault } from "../../src/providers/endpoint.ts";
import { kycProvider } from "../../src/providers/kyc.ts";
import { readStripeEvent } from "../../src/providers/stripe/read.ts";
import { verifyStripeSignature } from "../../src/providers/stripe/verify.ts";
import { parseJsonObject } from "../../src/server/body.ts";
import { AnchorScan } from "../../src/services/anchors/anchor-scan.ts";
import { Cursors } from "../../src/services/cursor.ts";
import type { Random } from "../model/random.ts";
import {
  onfidoRun,
  personaInquiry,
  sumsubReviewed,
  veriffDecision,
  veriffFullAuto,
} from "../providers/fixtures/kyc.ts";
import { mutate } from "./mutate.ts";
import { storedSeeds } from "./seeds.ts";
import { Finding, type Target } from "./target.ts";

const KEY = auditKey("an audit key of the fuzzer, of 32 bytes and more");
const PROVIDERS = ["sumsub", "persona", "veriff", "onfido"] as const;
const SECRET = "a webhook secret of the fuzzer, 32 bytes and more";

interface FileTarget {
  name: string;
  seeds: readonly (string | Buffer)[];
  /** What the format is made of. */
  words: readonly string[];
  run(input: Buffer): Promise<void> | void;
}

/** Every reader of text from outside: files, cursors and providers' webhooks. */
export function fileTargets(): Target[] {
  const directory = mkdtempSync(join(tmpdir(), "pmctl-fuzz-"));
  const file = join(directory, randomUUID());
  const inFile = (input: Buffer) => {
    writeFileSync(file, input);
    return file;
  };
  const described = [tenantTarget(), marketTarget(), planTarget(inFile), anchorTarget(inFile), backupTarget(inFile)];
  const targets = [...described, cursorTarget(), providerTarget(), signatureTarget()];
  return targets.map(({ name, seeds, words, run }) => ({
    name,
    concurrency: 1,
    guided: true,
    seeds: [...seeds.map((seed) => Buffer.from(seed)), ...storedSeeds(name)],
    make: (random: Random, corpus: readonly Buffer[]) => mutate(random, corpus, words),
    run,
    close: async () => rmSync(directory, { recursive: true, force: true }),
  }));
}

/** Runs what may refuse; any other error is passed on. */
function refusing(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof Fault;
}

function templates(ending: string): string[] {
  return (["minimal", "full"] as const).flatMap((template) =>
    planInit({ tenant: "acme", template }).flatMap(({ path, content }) =>
      path.endsWith(ending) && !path.includes("schema") ? [content] : [],
    ),
  );
}

const YAML_WORDS = [
  "\n",
  "  ",
  ": ",
  "- ",
  "&a ",
  "*a",
  "<<: ",
  "!!binary ",
  "!!map ",
  "|\n",
  ">-\n",
  "---\n",
  "...\n",
  "? ",
];

function tenantTarget(): FileTarget {
  const sections = "extends server database keys auth kyc webhooks audit treasury markets policy oracle network embed";
  const text = (input: Buffer) => input.toString();
  const words = [
    ...YAML_WORDS,
    ...sections.split(" ").map((name) => `${name}:`),
    "{ env: A }",
    "{ file: x }",
    "[",
    "]",
  ];
  const run = (input: Buffer) => refusing(() => parseTenantFile(text(input), "tenants/acme/tenant.yaml"));
  return { name: "tenant-file", seeds: templates("tenant.yaml"), words, run };
}

function marketTarget(): FileTarget {
  const words = [
    ...YAML_WORDS,
    "question:",
    "closeAt:",
    "p0:",
    "kind:",
    "meta:",
    "state:",
    "resolutionRef:",
    "pm:btc > 1",
  ];
  const run = (input: Buffer) =>
    refusing(() => {
      const { problems, markets } = checkMarketFile(input.toString(), "markets/a.yaml", new Map());
      for (const { message } of problems) if (message === "") throw new Finding("a problem without words");
      JSON.stringify(markets, (_, value) => (typeof value === "bigint" ? String(value) : value));
    });
  return { name: "market-file", seeds: templates(".yaml").filter((text) => text.includes("question:")), words, run };
}

function planTarget(inFile: (input: Buffer) => string): FileTarget {
  const plan: Plan = {
    tenant: "acme",
    fileSha256: "0".repeat(64),
    liveVersion: 1,
    empty: true,
    items: [],
    settings: [],
    warnings: [],
    overrides: [],
  };
  const item = { field: "policy.feeBps", kind: "change", live: 1, desired: 2, last: null, mark: "LOOSENS", by: null };
  const seeds = [{ ...plan }, { ...plan, items: [item], settings: ["server.port"] }].map((each) =>
    JSON.stringify(
      { format: "pmctl-plan-v2", plans: [{ ...each, accepted: { loosening: true, rules: [] } }] },
      null,
      2,
    ),
  );
  const words = [
    '"items":',
    '"settings":',
    '"tenant":',
    '"liveVersion":',
    "[",
    "]",
    "{",
    "}",
    "null",
    ",",
    '"__proto__":',
  ];
  const run = (input: Buffer) => {
    const path = inFile(input);
    refusing(() => {
      for (const saved of readPlans(path)) requireSame(saved, plan);
    });
  };
  return { name: "plan-file", seeds, words, run };
}

function anchorTarget(inFile: (input: Buffer) => string): FileTarget {
  const line = (seq: number) =>
    `${JSON.stringify(signAnchor("acme", { seq: BigInt(seq), hash: "a".repeat(64), ts: "2027-01-01T00:00:00.000Z" }, KEY))}\n`;
  const words = ['{"tenant":', '"seq":', '"hash":', '"keyId":', '"signature":', "\n", KEY.id, "acme"];
  const run = async (input: Buffer) => {
    for (const text of input.toString().split("\n")) {
      const anchor = parseAnchor(text);
      if (anchor) isGenuine(anchor, [KEY]);
    }
    const { anchors } = await new AnchorScan(inFile(input), "acme", [KEY]).read();
    for (const { seq } of anchors) if (BigInt(seq) < 1n) throw new Finding(`an anchor at ${seq}`);
  };
  return { name: "anchor-file", seeds: [line(1), line(1) + line(2), `${line(9)}garbage\n${line(3)}`], words, run };
}

/** A byte in front tells how it is packed: text that is compressed here, or the compressed bytes themselves. */
function backupTarget(inFile: (input: Buffer) => string): FileTarget {
  const manifest = {
    format: BACKUP_FORMAT,
    tenant: "acme",
    created: "2027-01-01T00:00:00.000Z",
    schemaVersion: 12,
    migrations: [{ name: "0001", checksum: "a".repeat(64) }],
    head: { seq: 1, hash: "a".repeat(64) },
    count: 1,
  };
  const sha256 = "a".repeat(64);
  const trailer = { rows: 2, sha256, keyId: KEY.id, mac: backupMac(KEY, sha256) };
  const text = `${JSON.stringify(manifest)}\ncopy account (id, balance_micro) from stdin\na\t1\nb\t2\n\\.\n${JSON.stringify(trailer)}\n`;
  const packed = Buffer.concat([Buffer.from("z"), gzipSync(text)]);
  const age = "zage-encryption.org/v1\n-> X25519 abc\nabc\n--- abc\n";
  const words = ["\n", "\\.\n", "\t", "\\N", "copy audit (seq) from stdin\n", '"head":', '"count":', '"mac":'];
  const run = async (input: Buffer) => {
    const content = input.subarray(1);
    try {
      const opened = await openBackup(inFile(input[0] === 0x7a ? content : gzipSync(content, { level: 1 })), undefined);
      await inspectBackup(opened.content(), { tenant: "acme", keys: [KEY] });
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  };
  return { name: "backup-file", seeds: [`t${text}`, packed, age], words, run };
}

/** Both cursors that were made up and places that another build may have signed. */
function cursorTarget(): FileTarget {
  const cursors = new Cursors([KEY]);
  const run = (input: Buffer) => {
    const text = input.toString();
    const read = (cursor: string) =>
      refusing(() => void cursors.list("listMarkets", { cursor, q: text }).reached(["number", "string"]));
    read(text);
    let place: unknown;
    try {
      place = JSON.parse(text);
    } catch {
      return;
    }
    if (Array.isArray(place)) read(cursors.list("listMarkets", { q: text }).cursorAt(place));
  };
  return {
    name: "cursor",
    seeds: ['[1,"m1"]', '[1.5,"x",null]', "WzEsIm0xIl0"],
    words: ["[", "]", ",", '"', "W", "="],
    run,
  };
}

function providerTarget(): FileTarget {
  const stripe = (type: string, object: object) => ({ id: "evt_1", object: "event", type, data: { object } });
  const paid = {
    id: "pi_1",
    object: "payment_intent",
    status: "succeeded",
    amount: 100,
    amount_received: 100,
    currency: "usd",
  };
  const charge = {
    id: "ch_1",
    object: "charge",
    payment_intent: "pi_1",
    amount: 100,
    amount_refunded: 50,
    currency: "usd",
  };
  const bodies = [
    sumsubReviewed,
    personaInquiry("inquiry.approved"),
    veriffDecision("approved"),
    veriffFullAuto("declined"),
    onfidoRun("approved"),
    stripe("payment_intent.succeeded", { ...paid, metadata: { userId: "usr_1" } }),
    stripe("charge.refunded", { ...charge, refunds: { data: [{ id: "re_1", amount: 50 }] } }),
    stripe("checkout.session.completed", {
      id: "cs_1",
      payment_status: "paid",
      amount_total: 100,
      payment_intent: "pi_1",
    }),
  ];
  const words = ['"data":', '"attributes":', '"payload":', '"object":', '"type":', "{", "}", "[", "]", ",", "null"];
  const run = (input: Buffer) =>
    refusing(() => {
      const body = parseJsonObject(input);
      for (const provider of PROVIDERS) {
        const said = kycProvider({ provider, secrets: [SECRET] }).read(body);
        if (!("news" in said)) KycEvent.safeParse({ ...said, tenantId: "acme" });
      }
      const event = StripeEvent.safeParse({ ...body, tenantId: "acme" });
      if (event.success) readStripeEvent(event.data.type, event.data.data.object);
    });
  return { name: "provider-body", seeds: bodies.map((body) => JSON.stringify(body)), words, run };
}

/** Headers, one a line; the body is fixed. */
function signatureTarget(): FileTarget {
  const names = [
    "x-signature",
    "x-timestamp",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "stripe-signature",
  ];
  const own = ["persona-signature", "x-payload-digest", "x-payload-digest-alg", "x-hmac-signature", "x-sha2-signature"];
  const seeds = [
    "x-signature: sha256=00\nx-timestamp: 2027-01-01T00:00:00Z",
    "webhook-id: msg_1\nwebhook-timestamp: 1798761600\nwebhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    `stripe-signature: t=1798761600,v1=${"0".repeat(64)}\npersona-signature: t=1798761600,v1=${"0".repeat(64)}`,
    `x-payload-digest: ${"0".repeat(64)}\nx-payload-digest-alg: HMAC_SHA256_HEX\nx-hmac-signature: ${"0".repeat(64)}`,
  ];
  const body = Buffer.from('{"userId":"usr_1"}');
  const run = async (input: Buffer) => {
    const headers = new Map(
      input
        .toString("latin1")
        .split("\n")
        .map((line): [string, string] => [line.split(": ")[0] ?? "", line.slice(line.indexOf(": ") + 2)]),
    );
    const now = 1_798_761_600_000;
    const header = (name: string) => headers.get(name);
    const held = [
      inboundFault(body, header, { secrets: [SECRET], scheme: "any" }, now) === undefined,
      await verifyStripeSignature(body, header("stripe-signature"), [SECRET], now),
      ...PROVIDERS.map((provider) => kycProvider({ provider, secrets: [SECRET] }).verify(body, header, now)),
    ];
    if (held.includes(true)) throw new Finding("a signature holds that no key made");
  };
  return {
    name: "signature-headers",
    seeds,
    words: [...names, ...own].flatMap((name) => [`\n${name}: `, "v1,", "t=", ","]),
    run,
  };
}
