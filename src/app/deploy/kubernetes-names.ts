/** The names and labels that a tenant's resources share. */
export interface Names {
  /** Of each resource, and of the Secret that the operator makes. */
  name: string;
  selector: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
}

export function namesOf(tenant: string): Names {
  const selector = { "app.kubernetes.io/name": "pmctl", "app.kubernetes.io/instance": tenant };
  return { name: `pmctl-${tenant}`, selector, labels: { ...selector, "app.kubernetes.io/part-of": "pmctl" } };
}

export function metadataOf({ name, labels }: Names) {
  return { name, labels };
}
