import { readBounded, UnusableFile } from "../../config/bounded-file.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import type { Story } from "./tell-story.ts";

/** A story as its page holds it. */
export type SignedStory = Story & { signature: { keyId: string; value: string } };

const SCRIPT = /<script type="application\/json" id="pmctl-story">([^<]*)<\/script>/;

/** The story with a signature by the audit key, which covers all of it. */
export function signStory(story: Story, key: AuditKey): SignedStory {
  return { ...story, signature: { keyId: key.id, value: signatureOf(story, key) } };
}

/** The format is fixed, because pages are verified for ever. */
function signatureOf(story: Story, key: AuditKey): string {
  return key.hmac(`pmctl-story-v1\n${canonicalJson(JSON.parse(JSON.stringify(story)) as Json)}`);
}

/** One page that loads nothing: what people read, and the same as signed data. */
export function storyPage(story: SignedStory): string {
  const { tenant, subject, lines, verified, head, signature } = story;
  const title = html(`The story of ${subject.kind} ${subject.key ?? subject.id}`);
  const rows = lines.map(
    ({ ts, seq, hash, sentence }) =>
      `<tr><td class="n">${seq}</td><td><time>${html(ts)}</time></td><td>${html(sentence)}</td><td><code>${html(hash)}</code></td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top; }
.n { text-align: right; }
code { font-size: 11px; overflow-wrap: anywhere; }
time { white-space: nowrap; }
</style>
</head>
<body>
<h1>${title}</h1>
<p>Tenant ${html(tenant)}, ${html(subject.kind)} ${html(subject.id)}. The audit log ${verified ? "held" : "did NOT hold"} when this was written; its head was <code>${html(head)}</code>.</p>
<table>
<thead><tr><th class="n">Entry</th><th>Time</th><th>What</th><th>Hash</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
<p>Signed with ${html(signature.keyId)}: <code>${html(signature.value)}</code>. <code>pmctl story --verify FILE</code> checks this page.</p>
<script type="application/json" id="pmctl-story">${JSON.stringify(story).replaceAll("<", "\\u003c")}</script>
</body>
</html>
`;
}

function html(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/**
 * The story of a page, once its signature holds and the page shows what was signed and nothing else.
 * @throws Fault USAGE for what is no such page, CONFIG_INVALID for the page of another key, STORY_CHANGED
 */
export async function verifyPage(file: string, keys: readonly AuditKey[]): Promise<SignedStory> {
  const page = readPage(file);
  const story = parseJson(SCRIPT.exec(page)?.[1] ?? "");
  if (!isSigned(story)) throw new Fault("USAGE", `${file} is no story that pmctl wrote`);
  const { signature, ...told } = story;
  const key = keys.find(({ id }) => id === signature.keyId);
  if (!key)
    throw new Fault(
      "CONFIG_INVALID",
      `${file} is signed with the key ${signature.keyId}, and the tenant's audit keys are ${keys.map(({ id }) => id).join(", ")}`,
    );
  if (signatureOf(told, key) !== signature.value)
    throw new Fault("STORY_CHANGED", `${file} was changed: its signature does not hold`);
  if (storyPage(story) !== page)
    throw new Fault(
      "STORY_CHANGED",
      `${file} shows something else than what is signed in it: it was changed, or another version of pmctl wrote it`,
    );
  return story;
}

/** Larger than the page of any market or user. */
const MOST_KIB = 256 * 1024;

function readPage(file: string): string {
  try {
    return readBounded(file, MOST_KIB).bytes.toString();
  } catch (cause) {
    if (!(cause instanceof UnusableFile)) throw cause;
    throw new Fault("USAGE", `${file} ${cause.message}`, { cause });
  }
}

/** What else a story holds is covered by the signature. */
function isSigned(value: unknown): value is SignedStory {
  const { signature } = (value ?? {}) as Partial<SignedStory>;
  return typeof signature?.keyId === "string" && typeof signature.value === "string";
}
