/** The path before `/console`: empty, or `/t/<tenant>` where several tenants share the port. */
export const BASE = /^(\/t\/[^/]+)?(?=\/console)/.exec(location.pathname)?.[0] ?? "";

/** An address of this page, such as `/console/markets`. */
export function consolePath(path: string): string {
  return `${BASE}/console${path}`;
}
