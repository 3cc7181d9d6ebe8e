import { Fault } from "../../domain/fault.ts";
import { composeFiles } from "./compose.ts";
import type { Deployment, RenderedFile, Target } from "./deployment.ts";
import { kubernetesFiles } from "./kubernetes.ts";
import { patroniFiles } from "./patroni.ts";
import { systemdFiles } from "./systemd.ts";
import { stamped } from "./write-files.ts";

const RENDERERS: Readonly<Record<Target, (deployment: Deployment) => RenderedFile[]>> = {
  systemd: systemdFiles,
  compose: composeFiles,
  kubernetes: kubernetesFiles,
  patroni: patroniFiles,
};

/**
 * Renders the files of a target, each with its digest in the first line; writes nothing.
 *
 * @throws Fault USAGE when two files would have one name, such as those of a tenant `database` for Kubernetes
 */
export function renderDeployment(target: Target, deployment: Deployment): RenderedFile[] {
  const files = RENDERERS[target](deployment);
  const names = files.map(({ path }) => path);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    throw new Fault("USAGE", `Two files for ${target} would be called ${repeated}: leave out one of the tenants`);
  return files.map(({ path, text }) => ({ path, text: stamped(text) }));
}
