/** How many bytes of a file tell whether it holds anchors. */
export const ANCHOR_HEAD_BYTES = 256;

/** Whether a file begins like a tenant's file of anchors. It may be empty, or a crash may have cut its first line. */
export function beginsAsAnchors(text: string, tenant: string): boolean {
  const start = `{"tenant":${JSON.stringify(tenant)},"seq":`;
  return text.startsWith(start) || start.startsWith(text);
}
