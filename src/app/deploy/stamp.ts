import { createHash } from "node:crypto";

const STAMP = /^# Written by `pmctl deploy render`; a change by hand is recognised by sha256:([0-9a-f]{64})\n/;

/** The text below a line with its digest. Every format of a deployment takes the line for a comment. */
export function stamped(text: string): string {
  return `# Written by \`pmctl deploy render\`; a change by hand is recognised by sha256:${digestOf(text)}\n${text}`;
}

/** Whether a file is as it was written: its first line holds the digest of the rest. */
export function isAsWritten(content: string): boolean {
  const [line, digest] = STAMP.exec(content) ?? [];
  return line !== undefined && digestOf(content.slice(line.length)) === digest;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
