import type { Deployment, RenderedFile } from "./deployment.ts";
import { databaseResources } from "./kubernetes-database.ts";
import { tenantResources } from "./kubernetes-tenant.ts";
import { yamlText } from "./yaml-text.ts";

/** For `kubectl apply -k`: a CloudNativePG cluster, and the resources of each tenant. */
export function kubernetesFiles(deployment: Deployment): RenderedFile[] {
  const { tenants } = deployment;
  const files = [
    { path: "database.yaml", text: yamlText(...databaseResources(tenants)) },
    ...tenants.map((tenant) => ({
      path: `${tenant.config.tenant}.yaml`,
      text: yamlText(...tenantResources(tenant, deployment)),
    })),
  ];
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: files.map(({ path }) => path),
  };
  return [{ path: "kustomization.yaml", text: yamlText(kustomization) }, ...files];
}
