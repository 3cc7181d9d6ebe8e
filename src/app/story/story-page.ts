import { readBounded, UnusableFile } from "../../config/bounded-file.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import type { Story } from "./tell-story.ts";

/** A story in the form of its page. */
export type SignedStory = Story & { signature: { keyId: string; value: string } };

const SCRIPT = /<script type="application\/json" id="pmctl-story">([^<]*)<\/script>/;

/** Signs all of a story with the audit key. */
export function signStory(story: Story, key: AuditKey): SignedStory {
  return { ...story, signature: { keyId: key.id, value: signatureOf(story, key) } };
}

/** The format is fixed, because old pages must verify for ever. */
function signatureOf(story: Story, key: AuditKey): string {
  return key.hmac(`pmctl-story-v1\n${canonicalJson(JSON.parse(JSON.stringify(story)) as Json)}`);
}

/** A page that loads nothing: the story for people, and the same story as signed data. */
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
 * Returns the story of a page whose signature holds and which shows exactly what was signed.
 * @throws Fault USAGE for a file that is not such a page, CONFIG_INVALID for another key's page, STORY_CHANGED
 */
export async function verifyPage(file: string, keys: readonly AuditKey[]): Promise<SignedStory> {
  const page = readPage(file);
  const story = parseJson(SCRIPT.exec(page)?.[1] ?? "");
  if (!isSigned(story)) throw new Fault("USAGE", `${file} is not a story from pmctl`);
  const { signature, ...told } = story;
  const key = keys.find(({ id }) => id === signature.keyId);
  if (!key)
    throw new Fault(
      "CONFIG_INVALID",
      `${file} is signed with the key ${signature.keyId}, but the tenant's audit keys are ${keys.map(({ id }) => id).join(", ")}`,
    );
  if (signatureOf(told, key) !== signature.value)
    throw new Fault("STORY_CHANGED", `${file} was changed: its signature does not hold`);
  if (storyPage(story) !== page)
    throw new Fault(
      "STORY_CHANGED",
      `${file} shows something else than its signed data: it was changed, or another version of pmctl wrote it`,
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

/** The signature covers everything else in a story. */
function isSigned(value: unknown): value is SignedStory {
  const { signature } = (value ?? {}) as Partial<SignedStory>;
  return typeof signature?.keyId === "string" && typeof signature.value === "string";
}
