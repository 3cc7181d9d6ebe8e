/** Some fields of a type; undefined counts as unstated. */
export type Loose<T> = { [K in keyof T]?: T[K] | undefined };

/** `base` with the defined fields of `patch`. */
export function overlay<T extends object>(base: T, patch: Loose<T>): T {
  const defined = Object.entries(patch).filter(([, value]) => value !== undefined);
  return { ...base, ...(Object.fromEntries(defined) as Partial<T>) };
}
