/** The number of bytes that show whether a file contains anchors. */
export const ANCHOR_HEAD_BYTES = 256;

/** Whether a file begins like a tenant's file of anchors. It may be empty, or a crash may have cut off its first line. */
export function beginsAsAnchors(text: string, tenant: string): boolean {
  const start = `{"tenant":${JSON.stringify(tenant)},"seq":`;
  return text.startsWith(start) || start.startsWith(text);
}
