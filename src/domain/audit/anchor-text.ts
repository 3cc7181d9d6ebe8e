/** Bytes that tell a file of anchors from any other. */
export const ANCHOR_HEAD_BYTES = 256;

/** Whether a file begins as one of a tenant's anchors does; it may be empty, or a crash may have cut its first line short. */
export function beginsAsAnchors(text: string, tenant: string): boolean {
  const start = `{"tenant":${JSON.stringify(tenant)},"seq":`;
  return text.startsWith(start) || start.startsWith(text);
}
